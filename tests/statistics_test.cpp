// SPDX-License-Identifier: MIT
// Statistics: where they go, that the formats are what readers expect, that the numbers agree.
#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/program.h"
#include "tests/temporary_folder.h"

namespace {

const char* const kKeys[] = {
#define PROCESS_STATISTIC(key, kind, help) #key,
#define CLASS_STATISTIC(key, kind, help) #key,
#include "preload/formats/statistics.def"
};

Outcome exact_to(const std::string& path, const std::string& way = "plain") {
  Program program({program_path("statistics_are_exact", way)});
  if (way == "plain") program.preloaded();
  return program.with("PKTMALLOC_STATS", path).run();
}

// Runs a check in Python on a file; it says nothing if all is well.
Outcome python(const std::string& script, const std::string& file) {
  return Program({"python3", "-c", script, file}).run();
}

// What holds for every report of every program. `s` is the whole, `p` the totals, `c` one class.
const char kJsonChecks[] = R"(
import json, sys
s = json.load(open(sys.argv[1]))
p, classes = s["process"], s["classes"]
assert s["schema"] == 1 and s["version"] and s["pid"] > 0
assert s.pop("time") > 1.6e9  # alone has a fraction
def numbers(value):
    if isinstance(value, dict): value = list(value.values())
    if isinstance(value, list): return [n for v in value for n in numbers(v)]
    return [value] if not isinstance(value, str) else []
assert all(isinstance(n, int) and 0 <= n < 2**63 for n in numbers(s))
assert [c["bytes"] for c in classes] == sorted({c["bytes"] for c in classes})
for c in classes:
    assert c["live"] == c["allocs"] - c["frees"], c
    assert c["committed_bytes"] == c["active_bytes"] + c["free_bytes"], c
    held = (c["live"] + c["cached_threads"] + c["cached_depot"]) * c["bytes"]
    assert held <= c["active_bytes"], c
    assert c["cached_slabs"] * c["bytes"] <= c["committed_bytes"], c
def total(key, factor=lambda c: 1): return sum(c[key] * factor(c) for c in classes)
size = lambda c: c["bytes"]
blocks = s["blocks"]
assert blocks["live"] == blocks["allocs"] - blocks["frees"] and blocks["bytes"] == 0, blocks
assert p["block_bytes"] == blocks["active_bytes"], blocks
assert p["allocated_bytes"] == total("live", size) + p["block_bytes"]
assert p["cached_threads_bytes"] == total("cached_threads", size)
assert p["cached_depot_bytes"] == total("cached_depot", size)
assert p["cached_slabs_bytes"] == total("cached_slabs", size)
for key in ("active_bytes", "free_bytes", "committed_bytes", "purged_bytes", "allocs", "frees"):
    assert p[key] == total(key) + blocks[key], key
assert p["committed_bytes"] == p["active_bytes"] + p["free_bytes"]
assert p["passed"] == sum(numbers(s["passed"]))
assert p["threads_alive"] <= p["threads_seen"]
assert p["resident_bytes"] <= p["committed_bytes"]
of = {c["bytes"]: c for c in classes}
)";

const char kPrometheusChecks[] = R"(
import re, sys
helped, typed, seen, current = set(), {}, set(), None
for line in open(sys.argv[1]):
    assert line.endswith("\n")
    line = line[:-1]
    if line.startswith("# HELP "):
        name, text = line[7:].split(" ", 1)
        assert name not in helped and text and "\\" not in text, line
        helped.add(name)
    elif line.startswith("# TYPE "):
        name, kind = line[7:].split(" ")
        assert name in helped and name not in typed and kind in ("counter", "gauge"), line
        assert (kind == "counter") == name.endswith("_total"), line
        typed[name] = kind
        current = name
    else:
        m = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z_]+="[^"\\\n]*"(,[a-z_]+="[^"\\\n]*")*\})? (\d+)', line)
        assert m, line
        assert m[1] == current, line
        assert m[1].startswith("pktmalloc_"), line
        assert (m[1], m[2]) not in seen, line
        seen.add((m[1], m[2]))
        value = int(m[4])
        if m[1] == "pktmalloc_class_live" and m[2] == '{size="640"}': assert value == 1234
assert len(typed) > 30 and set(typed) == helped == {name for name, _ in seen}
assert ("pktmalloc_class_live", '{size="640"}') in seen
)";

}  // namespace

TEST_CASE("PKTMALLOC_STATS=1 writes text on stderr and nothing on stdout") {
  for (const std::string way : {"plain", "shared", "static"}) {
    Program program({program_path("hello", way)});
    if (way == "plain") program.preloaded();
    const Outcome outcome = program.with("PKTMALLOC_STATS", "1").run();
    INFO(way << ": " << outcome);
    CHECK(outcome.status == 7);
    CHECK(outcome.out == "hello\n");
    CHECK(outcome.err.find("---- pktmalloc ") == 0);
    CHECK(outcome.err.find(": hello-" + way + ", process ") != std::string::npos);
    CHECK(outcome.err.back() == '\n');
    std::istringstream lines(outcome.err);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  }
}

TEST_CASE("reports of many processes on one pipe do not cut into each other") {
  TemporaryFolder folder;
  const std::string one = "PERL_HASH_SEED=0 PKTMALLOC_STATS=1 LD_PRELOAD=" + library_path() +
                          " perl -e '@a = map { \"x\" x ($_ * 16) } 1 .. 4000'";
  const Outcome outcome =
      Program({"bash", "-c", "for i in $(seq 8); do " + one + " & done 2>&1 | cat > all; wait"})
          .in(folder.path())
          .run();
  INFO(outcome);
  const std::string check =
      "import sys; tables = open(sys.argv[1]).read().split('----\\n')[1:]\n"
      "assert len(tables) == 8 and len({table.count('\\n') for table in tables[:-1]}) == 1";
  CHECK(python(check, folder / "all").clean());
}

TEST_CASE("a program that closes its stderr in an exit handler is reported as well") {
  const Outcome plain = Program({"/bin/ls", "/"}).run();
  const Outcome outcome = Program({"/bin/ls", "/"}).preloaded().with("PKTMALLOC_STATS", "1").run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.out == plain.out);
  CHECK(outcome.err.find("---- pktmalloc ") == 0);
}

TEST_CASE("a program that writes over its environment is reported as well") {
  TemporaryFolder folder;
  for (const std::string way : {"plain", "shared", "static"}) {
    Program program({program_path("overwrites_its_environment", way)});
    if (way == "plain") program.preloaded();
    const Outcome outcome = program.with("PKTMALLOC_STATS", folder / "%e.json").run();
    INFO(way << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK(std::filesystem::file_size(folder / ("overwrites_its_environment-" + way + ".json")) > 0);
  }
}

TEST_CASE("malloc_stats writes the same text on stderr") {
  const Outcome outcome = Program({program_path("malloc_stats_tells_on_stderr")}).preloaded().run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("---- pktmalloc ") == 0);
  CHECK(outcome.err.find("    1536            1            1         0") != std::string::npos);
}

TEST_CASE("the ending of the path chooses the format") {
  TemporaryFolder folder;
  for (const std::string name : {"s.json", "s.prom", "s.txt", "s"}) {
    const Outcome outcome = exact_to(folder / name);
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
  CHECK(folder.read("s.json").find("{\n  \"schema\": 1") == 0);
  CHECK(folder.read("s.prom").find("# HELP pktmalloc_") == 0);
  CHECK(folder.read("s.txt").find("---- pktmalloc ") == 0);
  CHECK(folder.read("s").find("---- pktmalloc ") == 0);
}

TEST_CASE("an existing file is replaced") {
  TemporaryFolder folder;
  folder.write("s.json", std::string(100000, 'x'));
  CHECK(exact_to(folder / "s.json").clean());
  CHECK(python(kJsonChecks, folder / "s.json").clean());
}

TEST_CASE("%p, %e and %% in the path stand for process, program and percent sign") {
  TemporaryFolder folder;
  const Outcome outcome = exact_to(folder / "%e-%p-100%%-%x.json");
  INFO(outcome);
  CHECK(outcome.clean());
  const auto file = *std::filesystem::directory_iterator(folder.path());
  const std::string name = file.path().filename();
  INFO(name);
  const std::string program = "statistics_are_exact-plain-";
  CHECK(name.find(program) == 0);
  const std::string pid = name.substr(program.size(), name.find("-100%") - program.size());
  CHECK(!pid.empty());
  CHECK(pid.find_first_not_of("0123456789") == std::string::npos);
  CHECK(name == program + pid + "-100%-%x.json");
  CHECK(folder.read(name).find("\"pid\": " + pid + ",") != std::string::npos);
}

TEST_CASE("every process of a family writes its own file") {
  TemporaryFolder folder;
  const Outcome outcome = Program({program_path("fork_child_works_without_exec")})
                              .preloaded()
                              .with("PKTMALLOC_STATS", folder / "%p.json")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    const Outcome checked = python(kJsonChecks, file.path());
    INFO(checked);
    CHECK(checked.clean());
    ++files;
  }
  CHECK(files == 6);
}

// Of statistics_are_exact.
const std::string kExact = std::string(kJsonChecks) + R"(
assert of[640]["live"] == 1234 and of[49152]["live"] == 77, (of[640], of[49152])
assert of[640]["allocs"] == 190000 + 1234 and of[49152]["allocs"] == 10000 + 77
assert p["block_bytes"] == 5 << 22 and p["passed"] == 3 == s["passed"]["too_large"]["above"]
assert p["threads_seen"] == 5 and p["threads_alive"] == 1 and p["forks"] == 0
assert s["program"].startswith("statistics_are_exact-")
)";

TEST_CASE("JSON numbers agree with each other and with what the program did") {
  TemporaryFolder folder;
  for (const std::string way : {"plain", "shared", "static"}) {
    for (int run = 0; run < 5; ++run) {
      const Outcome outcome = exact_to(folder / "s.json", way);
      INFO(way << ": " << outcome);
      CHECK(outcome.clean());
      const Outcome checked = python(kExact, folder / "s.json");
      INFO(checked);
      CHECK(checked.clean());
    }
  }
}

TEST_CASE("samples of the heap profile and guarded objects count in their classes") {
  TemporaryFolder folder;
  for (const auto& [option, value] : {std::pair("PKTMALLOC_PROFILE_RATE", "1"),
                                      {"PKTMALLOC_PROFILE_RATE", "16KiB"},
                                      {"PKTMALLOC_SAMPLE_GUARD", "1"}}) {
    Program program({program_path("statistics_are_exact")});
    program.preloaded().with("PKTMALLOC_STATS", folder / "s.json").with(option, value);
    if (option == std::string("PKTMALLOC_PROFILE_RATE")) {
      program.with("PKTMALLOC_PROFILE", "/dev/null");
    }
    const Outcome outcome = program.run();
    INFO(option << "=" << value << ": " << outcome);
    CHECK(outcome.clean());
    const Outcome checked = python(kExact, folder / "s.json");
    INFO(checked);
    CHECK(checked.clean());
  }
}

TEST_CASE("mallinfo2 counts samples of the heap profile and guarded objects once") {
  for (const auto& environment :
       {std::pair("PKTMALLOC_PROFILE", "/dev/null"), {"PKTMALLOC_SAMPLE_GUARD", "1"}}) {
    const Outcome outcome = Program({program_path("mallinfo2_is_plausible")})
                                .preloaded()
                                .with(environment.first, environment.second)
                                .with("PKTMALLOC_PROFILE_RATE", "1")
                                .run();
    INFO(environment.first << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("JSON is right for programs of all kinds", "[.long]") {
  TemporaryFolder folder;
  for (const std::string name :
       {"allocation_in_key_destructors", "thread_churn_is_bounded", "free_in_another_thread",
        "trim_returns_memory", "memory_refused_then_granted", "objects_of_all_sizes_do_not_overlap",
        "cancelled_threads_free_in_their_handlers"}) {
    const Outcome outcome =
        Program({program_path(name)}).preloaded().with("PKTMALLOC_STATS", folder / "s.json").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
    const Outcome checked = python(kJsonChecks, folder / "s.json");
    INFO(checked);
    CHECK(checked.clean());
  }
}

TEST_CASE("every statistic is a key of the JSON text") {
  TemporaryFolder folder;
  CHECK(exact_to(folder / "s.json").clean());
  const std::string json = folder.read("s.json");
  for (const char* key : kKeys) {
    INFO(key);
    CHECK(json.find("\"" + std::string(key) + "\": ") != std::string::npos);
  }
}

TEST_CASE("a program name that is no JSON text is escaped") {
  TemporaryFolder folder;
  const std::string odd = folder / "a\"b\\c\n\xff d";
  std::filesystem::copy_file(program_path("hello"), odd);
  const Outcome outcome =
      Program({odd}).preloaded().with("PKTMALLOC_STATS", folder / "s.json").run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  const Outcome checked = python(
      std::string(kJsonChecks) + "assert s['program'] == 'a\"b\\\\c?\\xff d'\n", folder / "s.json");
  INFO(checked);
  CHECK(checked.clean());
}

TEST_CASE("Prometheus text is what its exposition format demands") {
  TemporaryFolder folder;
  CHECK(exact_to(folder / "s.prom").clean());
  const Outcome checked = python(kPrometheusChecks, folder / "s.prom");
  INFO(checked);
  CHECK(checked.clean());
}

TEST_CASE("a file that cannot be written is told in one line and changes nothing") {
  TemporaryFolder folder;
  mkdir((folder / "taken").c_str(), 0755);
  const std::string paths[] = {folder / "no/such/folder/s.json", folder / "taken", "/dev/full",
                               folder / std::string(300, 'x'), folder / std::string(5000, 'x')};
  for (const std::string& path : paths) {
    const Outcome outcome =
        Program({program_path("hello")}).preloaded().with("PKTMALLOC_STATS", path).run();
    INFO(path << ": " << outcome);
    CHECK(outcome.status == 7);
    CHECK(outcome.out == "hello\n");
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    CHECK(outcome.err.find("pktmalloc: ") == 0);
  }
}

TEST_CASE("docs/statistics.md explains every key") {
  std::ifstream file("docs/statistics.md");
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  for (const char* key : kKeys) {
    INFO(key);
    CHECK(text.str().find(key) != std::string::npos);
  }
}

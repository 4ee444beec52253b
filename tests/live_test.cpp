// SPDX-License-Identifier: MIT
// `pktmalloc stat`: what it reads of a running process is what the process says of itself, and what
// cannot be read is told in one line.
#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/program.h"
#include "tests/refused.h"
#include "tests/running.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

Outcome stat_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {build_path("pktmalloc"), "stat"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return Program(argv).run();
}

Outcome python(const std::string& script, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"python3", "-c", "import json, sys\n" + script};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return Program(argv).run();
}

// From outside and by itself. What the system swapped out in between is not resident. What the
// checked library keeps in quarantine was not freed yet.
const char kSame[] = R"(
outside, inside = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert 0 <= outside.pop("time") - inside.pop("time") < 600
swapped = "VmSwap:\t       0 kB" not in open(f"/proc/{sys.argv[3]}/status").read()
if swapped: outside["process"].pop("resident_bytes"), inside["process"].pop("resident_bytes")
assert outside["process"]["cached_threads_bytes"] > 0
assert outside["process"]["cached_depot_bytes"] > 0 or outside["process"]["frees"] == 0
for part in ("process", "passed"):
    for key, value in inside[part].items(): assert outside[part][key] == value, (part, key, outside[part][key], value)
for one, other in zip(outside["classes"], inside["classes"]): assert one == other, (one, other)
assert outside == inside
)";

// What holds for every reading, also of a process at work.
const char kSane[] = R"(
s = json.load(open(sys.argv[1]))
def numbers(value):
    if isinstance(value, dict): value = list(value.values())
    if isinstance(value, list): return [n for v in value for n in numbers(v)]
    return [value] if not isinstance(value, str) else []
assert s["schema"] == 1 and all(0 <= n < 2**62 for n in numbers(s)), s
for c in s["classes"]:
    assert c["live"] == c["allocs"] - c["frees"], c
    assert c["free_bytes"] <= c["committed_bytes"] < 2**37, c
)";

std::vector<std::string> outside(const std::string& mode, const TemporaryFolder& folder,
                                 const std::string& threads = "4",
                                 const std::string& way = "plain") {
  return {program_path("is_read_from_outside", way), mode, folder / "inside.json", threads};
}

Running::Environment preloaded(const std::string& library = library_path()) {
  return {{"LD_PRELOAD", library}};
}

void check_same(Running& program, const TemporaryFolder& folder) {
  const std::string pid = program.line("ready ");
  const Outcome outcome = stat_of({"--json", pid});
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.err.empty());
  folder.write("outside.json", outcome.out);
  const Outcome checked = python(kSame, {folder / "outside.json", folder / "inside.json", pid});
  INFO(checked);
  CHECK(checked.clean());
}

}  // namespace

TEST_CASE("what is read from outside is what the process says of itself") {
  for (const std::string way : {"plain", "shared", "static"}) {
    for (const std::string mode : {"holds", "forks", "ends"}) {
      TemporaryFolder folder;
      INFO(way << " " << mode);
      Running program(outside(mode, folder, "4", way),
                      way == "plain" ? preloaded() : Running::Environment{});
      check_same(program, folder);
    }
  }
}

TEST_CASE("samples of a heap profile are read where the process counts them") {
  TemporaryFolder folder;
  Running::Environment environment = preloaded();
  environment["PKTMALLOC_PROFILE"] = "/dev/null";
  environment["PKTMALLOC_PROFILE_RATE"] = "16KiB";
  Running program(outside("holds", folder), environment);
  check_same(program, folder);
}

TEST_CASE("a thousand threads are read exactly") {
  TemporaryFolder folder;
  Running program(outside("holds", folder, "1000"), preloaded());
  check_same(program, folder);
}

TEST_CASE("the checked library is read as well") {
  TemporaryFolder folder;
  Running program(outside("holds", folder), preloaded(build_path("libpktmalloc-checked.so")));
  check_same(program, folder);
}

TEST_CASE("a stopped process is read") {
  TemporaryFolder folder;
  Running program(outside("holds", folder), preloaded());
  program.line("ready ");
  program.send(SIGSTOP);
  check_same(program, folder);
}

TEST_CASE("a process whose library was deleted or replaced since is read") {
  for (const bool replaced : {false, true}) {
    TemporaryFolder folder;
    const std::string library = folder / "libpktmalloc.so";
    std::filesystem::copy_file(library_path(), library);
    Running program(outside("holds", folder), preloaded(library));
    program.line("ready ");
    std::filesystem::remove(library);
    if (replaced) std::filesystem::copy_file(build_path("tests/plugins/window.so"), library);
    INFO((replaced ? "replaced" : "deleted"));
    check_same(program, folder);
  }
}

TEST_CASE("a program that holds the library and was stripped or deleted is read") {
  for (const bool deleted : {false, true}) {
    TemporaryFolder folder;
    const std::string copy = folder / "program";
    std::filesystem::copy_file(program_path("is_read_from_outside", "static"), copy);
    INFO((deleted ? "deleted" : "stripped"));
    if (!deleted) REQUIRE(Program({"strip", copy}).run().clean());
    Running program({copy, "holds", folder / "inside.json"});
    program.line("ready ");
    if (deleted) std::filesystem::remove(copy);
    check_same(program, folder);
  }
}

TEST_CASE("a process that works is read again and again without nonsense") {
  TemporaryFolder folder;
  Running program(outside("works", folder, "2"), preloaded());
  const std::string pid = program.line("ready ");
  for (int i = 0; i < 10; ++i) {
    const Outcome outcome = stat_of({"--json", pid});
    INFO(outcome);
    CHECK(outcome.status == 0);
    folder.write("s.json", outcome.out);
    const Outcome checked = python(kSane, {folder / "s.json"});
    INFO(checked);
    CHECK(checked.clean());
  }
}

TEST_CASE("redis-server is read while it serves") {
  skip_without({"redis-server", "redis-cli"});
  TemporaryFolder folder;
  const std::string socket = folder / "socket";
  Running server(
      {"redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder.path()},
      preloaded());
  server.line(server.pid() > 0 ? std::to_string(server.pid()) + ":M" : "");
  const std::string pid = std::to_string(server.pid());
  const char* const fill = R"(
until [ -S "$1" ]; do sleep 0.1; done
redis-cli -s "$1" eval "for i = 1, 100000 do redis.call('set', i, string.rep('x', 100)) end" 0
)";
  const auto allocated = [&] {
    const Outcome outcome = stat_of({"--json", pid});
    INFO(outcome);
    CHECK(outcome.status == 0);
    folder.write("s.json", outcome.out);
    CHECK(python(kSane, {folder / "s.json"}).clean());
    const Outcome bytes = python(
        "print(json.load(open(sys.argv[1]))['process']['allocated_bytes'])", {folder / "s.json"});
    return std::stoll(bytes.out);
  };
  const long long before = allocated();
  CHECK(Program({"sh", "-c", fill, "sh", socket}).run().status == 0);
  CHECK(allocated() > before + 10'000'000);
}

TEST_CASE("text, JSON and Prometheus text are those of the library") {
  TemporaryFolder folder;
  Running program(outside("holds", folder), preloaded());
  const std::string pid = program.line("ready ");
  const Outcome text = stat_of({pid});
  INFO(text);
  CHECK(text.status == 0);
  CHECK(text.out.rfind("---- pktmalloc ", 0) == 0);
  CHECK(text.out.find("is_read_from_outside-plain, process " + pid) != std::string::npos);
  CHECK(text.out.find("\nthreads    6 seen, 5 alive; 0 forks\n") != std::string::npos);
  CHECK(text.out.find("\nprocess    ") != std::string::npos);
  CHECK(stat_of({"--prom", pid}).out.rfind("# HELP pktmalloc_allocated_bytes ", 0) == 0);
  CHECK(stat_of({"--json", folder / "inside.json"}).out == folder.read("inside.json"));
  // Of a file, what the whole process holds is not known.
  const Outcome file = stat_of({folder / "inside.json"});
  INFO(file);
  std::string without = text.out;
  const size_t line = without.find("process    ");
  without.erase(line, without.find('\n', line) + 1 - line);
  CHECK(file.out == without);
}

TEST_CASE("without an argument all processes that have the library are listed") {
  TemporaryFolder folder;
  Running one(outside("holds", folder), preloaded());
  Running other(outside("holds", folder, "9", "static"));
  Running without({"sleep", "1000"});
  one.line("ready ");
  other.line("ready ");
  const Outcome outcome = stat_of({});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.out.rfind("    PID PROGRAM ", 0) == 0);
  const auto row = [&](pid_t pid) -> std::string {
    const size_t at = outcome.out.find(" " + std::to_string(pid) + " ");
    return at == std::string::npos ? "" : outcome.out.substr(at, outcome.out.find('\n', at) - at);
  };
  CHECK(row(one.pid()).find(" is_read_from_outs") != std::string::npos);
  CHECK(row(one.pid()).rfind("  5") == row(one.pid()).size() - 3);
  CHECK(row(other.pid()).rfind(" 10") == row(other.pid()).size() - 3);
  CHECK(row(without.pid()).empty());

  const nlohmann::json json = nlohmann::json::parse(stat_of({"--json"}).out);
  for (const auto& [pid, threads] : {std::pair(one.pid(), 5), std::pair(other.pid(), 10)}) {
    const auto is_it = [pid = pid](const nlohmann::json& p) { return p["pid"] == pid; };
    const auto& all = json["processes"];
    const auto found = std::find_if(all.begin(), all.end(), is_it);
    REQUIRE(found != all.end());
    CHECK((*found)["threads_alive"] == threads);
    CHECK((*found)["rss_bytes"] > 0);
    CHECK((*found)["allocated_bytes"] > 0);
    CHECK((*found)["program"].get<std::string>().starts_with("is_read_from_outside"));
  }
}

TEST_CASE("processes that cannot be read are told in one line") {
  TemporaryFolder folder;
  Running without({"sleep", "1000"});
  check_refused(stat_of({std::to_string(without.pid())}), "does not use pktmalloc");
  const std::string gone = std::to_string(without.pid());
  without.end();
  check_refused(stat_of({gone}), "there is no process " + gone);
  check_refused(stat_of({"99999999"}), "there is no process 99999999");
  check_refused(stat_of({"no/such/file"}), "cannot read no/such/file");
  folder.write("s.json", "{}");
  check_refused(stat_of({folder / "s.json"}), "is not a statistics file");
  check_refused(stat_of({""}), "cannot read ");
  check_refused(stat_of({"--prom"}), "needs a process id or a file");
}

TEST_CASE("a process of another user is refused") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv"});
  TemporaryFolder folder;
  const std::string copy = folder / "pktmalloc";
  std::filesystem::copy_file(build_path("pktmalloc"), copy);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  Running program(outside("holds", folder), preloaded());
  const std::string pid = program.line("ready ");
  const std::vector<std::string> nobody = {
      "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "stat"};
  std::vector<std::string> one = nobody;
  one.push_back(pid);
  check_refused(Program(one).run(), "process " + pid);
  const Outcome all = Program(nobody).run();
  INFO(all);
  CHECK(all.status == 0);
  CHECK(all.out.find(pid) == std::string::npos);
}

TEST_CASE("a full disk is told") {
  TemporaryFolder folder;
  Running program(outside("holds", folder), preloaded());
  const std::string command = build_path("pktmalloc") + " stat " + program.line("ready ");
  check_refused(Program({"sh", "-c", command + " >/dev/full"}).run(), "cannot write");
  check_refused(Program({"sh", "-c", build_path("pktmalloc") + " stat >/dev/full"}).run(),
                "cannot write");
}

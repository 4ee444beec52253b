// SPDX-License-Identifier: MIT
// The benchmark harness (tools/bench) as users start it: what it tells and records, what it does
// with bad input, an interrupt, and programs that fail.
#include <catch2/catch.hpp>

#include <gnu/libc-version.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "preload/contract/pktmalloc.h"
#include "tests/bench.h"

namespace {

// Lines without those of usage and those of peers that are not installed.
Words complaints(const std::string& err) {
  Words found;
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("usage: ", 0) != 0 && line.rfind("  ", 0) != 0 && !contains(line, "skipped")) {
      found.push_back(line);
    }
  }
  return found;
}

// Losses, then the table.
void check_report(const std::string& out) {
  const size_t losses = out.find("\nLosses: ");
  const size_t table = out.find("\nworkload  ");
  REQUIRE(losses != std::string::npos);
  REQUIRE(table != std::string::npos);
  CHECK(losses < table);
  CHECK(out.find(kRow, table) != std::string::npos);
}

// `r` is the record, `e` its one experiment.
const std::string kReadRecord = R"(
import json, os, shutil, sys
r = json.load(open(sys.argv[1]))
e, = r["experiments"]
)";

// Interrupts a command, and all of this group, once a program runs with the library preloaded.
const char kInterrupt[] = R"(
import os, signal, subprocess, sys, time
library, *command = sys.argv[1:]
def processes_with(variable):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"{variable}={library}".encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found
signal.signal(signal.SIGINT, lambda *_: None)
bench = subprocess.Popen(command)
try:
    while not processes_with("LD_PRELOAD"):
        assert bench.poll() is None, "ended before"
        time.sleep(0.002)
    os.killpg(0, signal.SIGINT)
    status = bench.wait()
    assert not processes_with("BENCH_LIBRARY"), "a child remains"
finally:
    bench.kill()
    for pid in processes_with("BENCH_LIBRARY"):
        os.kill(pid, signal.SIGKILL)
sys.exit(status)
)";

}  // namespace

TEST_CASE("a run tells machine, versions and losses, then the tables") {
  ScriptedBuild build(R"(case $BENCH_LIBRARY in
*/libpktmalloc.so) echo '{"ms": 3}' ;;
*) echo '{"ms": 2}' ;;
esac)");
  const std::string record = build / "record.json";
  const Outcome outcome = bench(build.path(), record);
  INFO(outcome);
  CHECK(outcome.status == 0);
  check_report(outcome.out);
  utsname machine{};
  REQUIRE(uname(&machine) == 0);
  const std::string glibc = std::string("glibc ") + gnu_get_libc_version();
  const std::string head = outcome.out.substr(0, outcome.out.find("\nLosses: "));
  CHECK(contains(head, std::string("Linux ") + machine.release + ", " + glibc));
  CHECK(contains(head, "\n" + glibc + ", "));
  CHECK(contains(head, ", pktmalloc " PKTMALLOC_VERSION "\n"));
  CHECK(contains(head, "commit "));
  const std::string loss = "\n  " + kRow + std::string(40 - kRow.size(), ' ') + "  1.50 x ";
  CHECK(outcome.out.find(loss + "glibc\n") < outcome.out.find("\nworkload  "));
  CHECK(occurrences(outcome.err, "(pktmalloc)") == 1);
  CHECK(occurrences(outcome.err, "[warm-up, ") == 1);
  CHECK(!contains(outcome.out, "[round"));
  CHECK(contains(outcome.out, "\nrecord: " + record + "\n"));
}

TEST_CASE("the record has the machine, the allocators and every sample of a real workload") {
  TemporaryFolder folder;
  const std::string record = folder / "new/record.json";
  const Outcome outcome = bench(PKTMALLOC_BUILD, record);
  INFO(outcome);
  CHECK(outcome.status == 0);
  check_report(outcome.out);
  check_python(kReadRecord + R"(
def content(path): return open(path).read().strip() if os.path.exists(path) else ""
m, a = r["machine"], r["allocators"]
assert m["date"][:2] == "20" and m["commit"] and m["cpu"] and m["cpus"] > 0, m
assert m["kernel"] == os.uname().release and m["glibc"] == os.confstr("CS_GNU_LIBC_VERSION"), m
assert m["transparent_hugepages"] == content("/sys/kernel/mm/transparent_hugepage/enabled"), m
assert m["overcommit_memory"] == content("/proc/sys/vm/overcommit_memory"), m
assert list(a)[0] == "glibc" and list(a)[-1] == "pktmalloc", a
assert a["glibc"] == {"file": "", "version": m["glibc"].split()[1]}, a
assert a["pktmalloc"] == {"file": "libpktmalloc.so", "version": sys.argv[2]}, a
if shutil.which("dpkg"): assert all(each["version"][0].isdigit() for each in a.values()), a
assert len(e["contenders"]) > 0 and not e["failed"], e
assert r["rounds"] == r["rounds_done"] == 1
assert set(e["samples"]) == {*a, *e["contenders"]}, e
for s, in e["samples"].values():
    assert 0 < s["ms"] <= s["wall_ms"] < 60000 and s["minor_faults"] > 10, s
    assert 0 < s["user_ms"] + s["system_ms"] and 1 < s["process_peak_mib"] < 1000, s
assert os.listdir(os.path.dirname(sys.argv[1])) == ["record.json"]
)",
               {record, PKTMALLOC_VERSION});
}

TEST_CASE("programs that fail are told and recorded, and the others go on") {
  ScriptedBuild build(R"(case $BENCH_LIBRARY in
*/exits.so) echo first >&2; echo last >&2; exit 3 ;;
*/killed.so) kill -KILL $$ ;;
*/mumbles.so) echo no figures ;;
*) echo "{\"ms\": 2.5, \"preloaded\": ${#LD_PRELOAD}}" ;;
esac)");
  build.write("broken.so", "no library\n");
  for (const std::string name : {"exits.so", "killed.so", "mumbles.so", "good.so"}) {
    build.link_library(name);
  }
  Words options = {"--rounds", "2"};
  for (const std::string name : {"exits", "killed", "mumbles", "good", "broken"}) {
    options.insert(options.end(), {"--allocator", name + "=" + (build / (name + ".so"))});
  }
  const Outcome outcome = bench(build.path(), build / "record.json", options);
  INFO(outcome);
  CHECK(outcome.status == 1);
  check_report(outcome.out);
  CHECK(contains(outcome.out, "\nfailed\n"));
  for (const std::string name : {"exits", "killed", "mumbles", "broken"}) {
    CHECK(occurrences(outcome.out, " under " + name + ": ") == 1);
    CHECK(occurrences(outcome.err, " under " + name + ": ") == 1);
    CHECK(occurrences(outcome.err, "(" + name + ")\n") == 1);  // not tried again
  }
  CHECK(occurrences(outcome.err, "FAILED ") == 4);
  check_python(kReadRecord + R"(
why = e["failed"]
assert set(why) == {"exits", "killed", "mumbles", "broken"}, why
assert why["exits"] == "exit status 3 last" and "137" in why["killed"], why
assert "no figures" in why["mumbles"] and "broken.so" in why["broken"], why
samples = e["samples"]
assert set(samples) == {*r["allocators"], *e["contenders"]} - set(why), samples
assert all(len(runs) == 2 and run["ms"] == 2.5 for runs in samples.values() for run in runs)
assert samples["glibc"][0]["preloaded"] == 0, samples
assert samples["good"][0]["preloaded"] == len(sys.argv[2]), samples
)",
               {build / "record.json", build / "good.so"});
}

TEST_CASE("what is not understood is told in one line, and no record is written") {
  TemporaryFolder folder;
  const std::string record = folder / "record.json";
  const std::pair<Words, std::string> bad[] = {
      {{"--rounds", "0"}, "--rounds: expected a number above 0"},
      {{"--rounds", "many"}, "'many'"},
      {{"--scale", "-1"}, "'-1'"},
      {{"--scale", "nan"}, "'nan'"},
      {{"--allocator", "mimalloc"}, "--allocator: expected name=path.so, not 'mimalloc'"},
      {{"--allocator", "other=/nonexistent/other.so"}, "no library /nonexistent/other.so"},
      {{"--suite", "all"}, "'all'"},
      {{"--build", folder.path()}, "no programs in " + folder.path() + "/bench"},
  };
  for (const auto& [options, told] : bad) {
    const Outcome outcome = bench(PKTMALLOC_BUILD, record, options);
    INFO(options[0] << " " << options[1] << ": " << outcome);
    CHECK(outcome.status > 0);
    CHECK(outcome.out.empty());
    REQUIRE(complaints(outcome.err).size() == 1);
    CHECK(contains(complaints(outcome.err)[0], told));
    CHECK(!std::filesystem::exists(record));
  }
}

TEST_CASE("workloads that are asked for and unknown: those that there are get named") {
  TemporaryFolder folder;
  const Outcome outcome = Program({kPython, "tools/bench/bench.py", "--build", PKTMALLOC_BUILD,
                                   "--only", "W99", "--json", folder / "record.json"})
                              .run();
  INFO(outcome);
  CHECK(outcome.status > 0);
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, "W99"));
  CHECK(contains(outcome.err, "\n  " + kRow + "\n"));
  CHECK(contains(outcome.err, "\n  W3 rationals\n"));
  CHECK(contains(outcome.err, "\n  mixed sizes\n"));
  CHECK(!std::filesystem::exists(folder / "record.json"));
}

TEST_CASE("an interrupted run keeps and reports what it has, and no program goes on") {
  ScriptedBuild build(R"(case $BENCH_LIBRARY in
*/slow.so) sleep 1000 ;;
esac
echo '{"ms": 1}')");
  const std::string record = build / "record.json";
  REQUIRE(mkfifo((build / "never.so").c_str(), 0600) == 0);  // whoever loads it waits for a writer
  build.link_library("slow.so");
  for (const std::string name : {"never", "slow"}) {
    std::filesystem::remove(record);
    const std::string library = build / (name + ".so");
    Words words =
        bench_words(build.path(), record, {"--rounds", "3", "--allocator", name + "=" + library});
    words.insert(words.begin(), {kPython, "-c", kInterrupt, library});
    const Outcome outcome = Program(words).run();
    INFO(name << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(!contains(outcome.err, "Traceback"));
    CHECK(contains(outcome.err, "\ninterrupted"));
    CHECK(contains(outcome.out, " 0 of 3 rounds"));
    CHECK(contains(outcome.out, "\nworkload  "));
    const size_t ended = occurrences(outcome.err, "[round 1 of 3, ") - 1;
    check_python(kReadRecord + R"(
assert r["rounds"] == 3 and r["rounds_done"] == 0, r
assert sum(map(len, e["samples"].values())) == int(sys.argv[2]) and not e["failed"], e
)",
                 {record, std::to_string(ended)});
  }
}

// SPDX-License-Identifier: MIT
// pktmalloc doctor --report: what a maintainer needs, and nothing private.
#include <catch2/catch.hpp>

#include <pwd.h>
#include <unistd.h>

#include <string>

#include "preload/contract/pktmalloc.h"
#include "tests/diagnosis.h"
#include "tests/running.h"

namespace {

Program report() { return Program({build_path("pktmalloc"), "doctor", "--report"}); }

// Of the line that begins so; "" when there is none.
std::string line(const Outcome& outcome, const std::string& name) {
  const std::string begin = "\n" + name + "  ";
  const std::string text = "\n" + outcome.out;
  const size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const size_t value = text.find_first_not_of(' ', at + begin.size());
  return text.substr(value, text.find('\n', value) - value);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a report has versions, machine and limits, each with a value") {
  const Outcome outcome = report().run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  for (const std::string name :
       {"pktmalloc", "library", "LD_PRELOAD", "options", "kernel", "system", "libc", "processor",
        "processors", "page size", "memory", "huge pages", "RLIMIT_AS", "THP", "container"}) {
    INFO(name);
    CHECK(!line(outcome, name).empty());
  }
  CHECK(line(outcome, "pktmalloc").find(PKTMALLOC_VERSION "; header schema ") == 0);
  CHECK(line(outcome, "page size") == std::to_string(sysconf(_SC_PAGESIZE)));
  CHECK(line(outcome, "library") ==
        "libpktmalloc.so loads, libpktmalloc-hardened.so loads, libpktmalloc-checked.so loads");
}

TEST_CASE("a report shows options, and nothing private") {
  TemporaryFolder folder;
  const Outcome outcome = report()
                              .with("PKTMALLOC_AGE", "250ms")
                              .with("PKTMALLOC_STATS", "1")
                              .with("PKTMALLOC_SIZES", folder / "secret.json")
                              .with("PKTMALLOC_TRACE", "secret.trace")
                              .with("PKTMALLOC_NEXT", "secret")
                              .with("PKTMALLOC_CLASSES", "/home/secret")
                              .with("PKTMALLOC_NO_OPTION", "secret")
                              .with("TOKEN", "secret")
                              .with("LD_PRELOAD", library_path() + ":/nowhere/libsecret.so")
                              .in(folder / "")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  const std::string options = line(outcome, "options");
  CHECK(has(options, "PKTMALLOC_AGE=250ms"));
  CHECK(has(options, "PKTMALLOC_STATS=1"));
  CHECK(has(options, "PKTMALLOC_SIZES=(not shown)"));
  CHECK(has(options, "PKTMALLOC_NO_OPTION=(no option of this version)"));
  CHECK(line(outcome, "LD_PRELOAD") == "libpktmalloc.so, 1 other");
  CHECK(!has(outcome.out, "secret"));
  CHECK(!has(outcome.out, "TOKEN"));
  CHECK(!has(outcome.out, "/home"));
  CHECK(!has(outcome.out, build_path("")));
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  // A short one, such as "vm", may stand in what a kernel is called.
  if (std::string(host).size() > 6) CHECK(!has(outcome.out, host));
}

TEST_CASE("a report of a process has its library and its options") {
  TemporaryFolder folder;
  REQUIRE(compile(folder, kWaiting, "", "waiting"));
  Running process(
      {build_path("pktmalloc"), "run", "--hardened", "--age", "250ms", folder / "waiting"});
  process.line("ready");
  const Outcome outcome =
      Program({build_path("pktmalloc"), "doctor", "--report", std::to_string(process.pid())}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(line(outcome, "library").find("hardened " PKTMALLOC_VERSION ", loaded; ") == 0);
  CHECK(has(line(outcome, "options"), "PKTMALLOC_AGE=250ms"));
  CHECK(!has(outcome.out, "waiting"));
}

TEST_CASE("a report is of a process that there is, and doctor needs to know what to look at") {
  const std::string doctor = build_path("pktmalloc");
  const struct {
    std::vector<std::string> words;
    std::string says;
  } wrong[] = {
      {{doctor, "doctor"}, "pktmalloc: doctor needs a command or a process id\n"},
      {{doctor, "doctor", "--report", "ls"},
       "pktmalloc: doctor --report takes a process id, not ls\n"},
      {{doctor, "doctor", "--report", "999999999"}, "pktmalloc: there is no process 999999999\n"},
  };
  for (const auto& w : wrong) {
    const Outcome outcome = Program(w.words).run();
    INFO(outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == w.says);
  }
}

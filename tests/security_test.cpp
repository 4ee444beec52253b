// SPDX-License-Identifier: MIT
// What docs/security.md promises and a program can show; its table of system calls is read here.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/setuid.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

using Calls = std::set<long>;
using Environment = std::map<std::string, std::string>;
const char kFileLimit[] = "file limit";  // in an Environment: no variable, bytes a file may have

const std::map<std::string, long> kNumbers = {
#define CALL(name) \
  { #name, SYS_##name }
    CALL(accept4),
    CALL(bind),
    CALL(brk),
    CALL(clock_nanosleep),
    CALL(clone3),
    CALL(close),
    CALL(close_range),
    CALL(connect),
    CALL(dup2),
    CALL(fchmod),
    CALL(fcntl),
    CALL(ftruncate),
    CALL(futex),
    CALL(getcwd),
    CALL(geteuid),
    CALL(getpid),
    CALL(getpriority),
    CALL(getsockopt),
    CALL(gettid),
    CALL(ioctl),
    CALL(listen),
    CALL(lseek),
    CALL(madvise),
    CALL(mincore),
    CALL(mmap),
    CALL(mprotect),
    CALL(munmap),
    CALL(newfstatat),
    CALL(openat),
    CALL(poll),
    CALL(ppoll),
    CALL(prctl),
    CALL(prlimit64),
    CALL(read),
    CALL(readlink),
    CALL(recvfrom),
    CALL(rename),
    CALL(rseq),
    CALL(rt_sigaction),
    CALL(rt_sigpending),
    CALL(rt_sigprocmask),
    CALL(rt_sigtimedwait),
    CALL(sched_getaffinity),
    CALL(sched_getscheduler),
    CALL(sched_setaffinity),
    CALL(sched_setscheduler),
    CALL(sched_yield),
    CALL(sendto),
    CALL(set_robust_list),
    CALL(setpriority),
    CALL(socket),
    CALL(unlink),
    CALL(write),
#undef CALL
};

// The first column of the document's table.
Calls documented() {
  Calls calls;
  std::ifstream file("docs/security.md");
  const std::regex row("^\\| `([a-z0-9_]+)` \\|.*");
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_match(line, match, row)) continue;
    INFO(match[1] << " has no number in this test");
    REQUIRE(kNumbers.count(match[1]) == 1);
    calls.insert(kNumbers.at(match[1]));
  }
  return calls;
}

std::string joined(const Calls& calls) {
  std::string list;
  for (const long call : calls) list += std::to_string(call) + ",";
  return list;
}

Program supervised(std::vector<std::string> how, const std::string& name, const Environment& with) {
  how.insert(how.begin(), program_path("system_calls"));
  how.push_back(program_path(name));
  Program program(how);
  for (const auto& [variable, value] : with) {
    if (variable == kFileLimit) {
      program.limit(RLIMIT_FSIZE, std::stoul(value));
    } else {
      program.with(variable, value);
    }
  }
  return program;
}

// Those that the program makes; none when the system has no such filters.
Calls calls_of(const std::string& name, const Environment& with) {
  TemporaryFolder folder;
  supervised({"tell", folder / "calls"}, name, with).run();
  std::istringstream numbers(folder.read("calls"));
  Calls calls;
  for (long call = 0; numbers >> call;) calls.insert(call);
  return calls;
}

std::string relative(const TemporaryFolder& folder) {
  return std::filesystem::relative(folder.path());
}

Environment preloaded(Environment options) {
  options["PRELOAD"] = library_path();
  return options;
}

}  // namespace

TEST_CASE("the library makes the system calls that docs/security.md lists, and no other",
          "[.long]") {
  const Calls listed = documented();
  REQUIRE(listed.size() > 10);
  TemporaryFolder folder;
  const Environment options[] = {
      {},
      {{"PKTMALLOC_STATS", folder / "%p.json"},
       {"PKTMALLOC_BACKGROUND", "1"},
       {"PKTMALLOC_AGE", "8ms"}},
      {{"PKTMALLOC_STATS", folder / "%p.json"}, {kFileLimit, "2000"}},
      {{"PKTMALLOC_STATS", folder / "%p.json"}, {"PKTMALLOC_STATS_INTERVAL", "100ms"}},
      {{"PKTMALLOC_SIZES", folder / "sizes.json"}, {"PKTMALLOC_TELL", "1"}},
      {{"PKTMALLOC_TRACE", folder / "%p.trace"}},
      {{"PKTMALLOC_TRACE", relative(folder) + "/%p.zst"}},
      {{"PKTMALLOC_TRACE", folder / "%p.trace"}, {kFileLimit, "100000"}},
      {{"PKTMALLOC_STATS", "1"}, {"PKTMALLOC_BACKGROUND", "0"}, {"PKTMALLOC_AGE", "8ms"}},
      {{"PKTMALLOC_PROFILE", folder / "%p.heap"},
       {"PKTMALLOC_PROFILE_RATE", "64KiB"},
       {"PKTMALLOC_PROFILE_THREADS", "1"}},
      {{"PKTMALLOC_PROFILE", folder / "%p.heap"},
       {"PKTMALLOC_PROFILE_RATE", "1"},
       {"PKTMALLOC_PROFILE_STACKS", "frame_pointers"}},
      {{"PKTMALLOC_CONTROL", "1"}},
      {{"PKTMALLOC_SAMPLE_GUARD", "1"}}};
  Calls seen;
  for (const std::string name : {"hello", "everything_at_once"}) {
    const Calls without = calls_of(name, {});
    if (without.empty()) skip("this system has no seccomp filters with a listener");
    Calls allowed = without;
    allowed.insert(listed.begin(), listed.end());
    for (const Environment& with : options) {
      const Calls all = calls_of(name, preloaded(with));
      for (const long call : all) {
        INFO(name << " makes the system call " << call);
        CHECK(allowed.count(call) == 1);
      }
      seen.insert(all.begin(), all.end());
    }
    // A filter that allows them lets the program run; without the list the library's calls end it.
    const int status = name == "hello" ? 7 : 0;
    const Outcome outcome =
        supervised({"allow", joined(allowed)}, name, preloaded(options[1])).run();
    INFO(name << ": " << outcome);
    CHECK(outcome.status == status);
    CHECK(outcome.err.find("ended by") == std::string::npos);
    const Outcome ended = supervised({"allow", joined(without)}, name, preloaded(options[1])).run();
    CHECK(ended.status != status);
  }
  const Calls told = calls_of("tells_itself", preloaded({{"PKTMALLOC_CONTROL", "1"}}));
  seen.insert(told.begin(), told.end());
  // Only when a fork meets an exchange, when a pinned thread starts one of ours,
  // and at a lock that another thread holds.
  const Calls seldom = {SYS_clock_nanosleep,    SYS_poll,        SYS_sched_setaffinity,
                        SYS_sched_setscheduler, SYS_sched_yield, SYS_setpriority};
  for (const auto& [name, number] : kNumbers) {
    if (seldom.count(number) == 1) continue;
    INFO(name << " is listed and was not seen");
    CHECK((listed.count(number) == 0 || seen.count(number) == 1));
  }
}

TEST_CASE("addresses differ from process to process") {
  std::ifstream file("/proc/sys/kernel/randomize_va_space");
  int randomized = 0;
  file >> randomized;
  if (randomized == 0) skip("this system does not randomise addresses");
  std::set<std::string> places;
  for (int n = 0; n < 10; ++n) {
    const Outcome outcome = Program({program_path("objects_lie_somewhere")}).preloaded().run();
    CHECK(outcome.status == 0);
    places.insert(outcome.out);
  }
  CHECK(places.size() >= 9);  // one of a million for two of them to agree
}

TEST_CASE("a preload does not reach a setuid program, and does no harm") {
  TemporaryFolder folder;
  const std::string copy = setuid_copy(program_path("hello"), folder);
  const Outcome outcome =
      Program({"setpriv", "--reuid=65534", "--clear-groups", "env", "LD_PRELOAD=" + library_path(),
               "PKTMALLOC_STATS=1", "PKTMALLOC_UNKNOWN=1", copy})
          .run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(outcome.out == "hello\n");
  CHECK(outcome.err.empty());
}

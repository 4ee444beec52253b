// SPDX-License-Identifier: MIT
// The library when the system refuses memory: at the k-th call, and at all from there on, for every
// k up to the end of a program.
#include <catch2/catch.hpp>

#include <sys/syscall.h>

#include <cstdio>
#include <string>

#include "tests/program.h"
#include "tests/skip.h"

namespace {

// What the refusing side tells.
uint64_t refused(const Outcome& outcome) {
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  REQUIRE(outcome.out.rfind("refused ", 0) == 0);
  return std::stoull(outcome.out.substr(8));
}

// The library's own calls, all of the process's life. Returns how many were refused.
uint64_t refuse_in_library(const std::string& call, uint64_t first, uint64_t last) {
  const std::string wish = call + " " + std::to_string(first) + " " + std::to_string(last);
  const Outcome outcome =
      Program({program_path("work_while_memory_is_refused")})
          .with("LD_PRELOAD", build_path("tests/plugins/refusing.so") + " " + library_path())
          .with("PKTMALLOC_AGE", "4ms")
          .with("REFUSE", wish)
          .run();
  INFO(wish << ": " << outcome);
  return refused(outcome);
}

// libc's and its malloc's calls as well, while the program works.
uint64_t refuse_in_process(const std::string& calls, uint64_t first, uint64_t last) {
  const Outcome outcome =
      Program({program_path("system_calls"), "refuse", calls, std::to_string(first),
               std::to_string(last), program_path("work_while_memory_is_refused")})
          .with("PRELOAD", library_path())
          .with("PKTMALLOC_AGE", "4ms")
          .run();
  INFO(calls << " " << first << " " << last << ": " << outcome);
  return refused(outcome);
}

template <typename Run>
void refuse_every(const std::string& call, Run run_refusing) {
  constexpr uint64_t kForEver = uint64_t{1} << 40;
  uint64_t injected = 0;
  uint64_t runs = 0;
  for (const uint64_t span : {uint64_t{1}, kForEver}) {
    for (uint64_t k = 1;; ++k, ++runs) {
      const uint64_t now = run_refusing(call, k, k + span - 1);
      injected += now;
      if (now == 0) break;
    }
  }
  printf("%s: %llu faults injected in %llu runs\n", call.c_str(),
         static_cast<unsigned long long>(injected), static_cast<unsigned long long>(runs));
  CHECK(injected > 0);
}

}  // namespace

TEST_CASE("a program in which every mmap of the library is refused in turn works on") {
  refuse_every("mmap", refuse_in_library);
}

TEST_CASE("a program in which every madvise of the library is refused in turn works on") {
  refuse_every("madvise", refuse_in_library);
}

TEST_CASE("a program in which the system refuses any memory in turn works on") {
  const std::string probe =
      Program({program_path("system_calls"), "refuse", "1", "1", "1", program_path("hello")})
          .run()
          .out;
  if (probe.find("refused ") == std::string::npos)
    skip("this system has no seccomp filters with a listener");
  // Not brk: the kernel refuses it by its answer, not by an error.
  std::string calls;
  for (const long call : {SYS_mmap, SYS_mprotect, SYS_mremap}) calls += std::to_string(call) + ",";
  refuse_every(calls, refuse_in_process);
}

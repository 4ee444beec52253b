// SPDX-License-Identifier: MIT
// Whatever the library is asked to tell fits on a stack of PTHREAD_STACK_MIN.
#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "tests/program.h"
#include "tests/temporary_folder.h"

TEST_CASE("a thread with the smallest stack may look at the heap, and end the process") {
  TemporaryFolder folder;
  const std::map<std::string, std::string> options[] = {
      {},
      {{"PKTMALLOC_STATS", "1"}},
      {{"PKTMALLOC_STATS", folder / "written.json"}},
      {{"PKTMALLOC_STATS", folder / "written.prom"}},
      {{"PKTMALLOC_STATS", folder / "written.txt"}},
      {{"PKTMALLOC_SIZES", folder / "written"}, {"PKTMALLOC_TELL", "1"}},
      {{"PKTMALLOC_PROFILE", folder / "written"}, {"PKTMALLOC_PROFILE_RATE", "1"}},
      {{"PKTMALLOC_PROFILE", folder / "written"},
       {"PKTMALLOC_PROFILE_RATE", "1"},
       {"PKTMALLOC_PROFILE_DEPTH", "256"}},
      {{"PKTMALLOC_PROFILE", folder / "written"},
       {"PKTMALLOC_PROFILE_RATE", "1"},
       {"PKTMALLOC_PROFILE_STACKS", "frame_pointers"},
       {"PKTMALLOC_PROFILE_DEPTH", "256"}},
      {{"PKTMALLOC_PROFILE_LEAKS", "1"}, {"PKTMALLOC_PROFILE_RATE", "1"}},
      {{"PKTMALLOC_PROFILE_LEAKS", "1"}, {"PKTMALLOC_PROFILE_STACKS", "frame_pointers"}},
      {{"PKTMALLOC_TRACE", folder / "written"}},
      {{"PKTMALLOC_TRACE", folder / "written.zst"}},
  };
  for (const std::string library : {"libpktmalloc.so", "libpktmalloc-checked.so"}) {
    for (const auto& with : options) {
      Program program({program_path("ends_on_the_smallest_stack")});
      program.with("LD_PRELOAD", build_path(library));
      for (const auto& [name, value] : with) program.with(name, value);
      const Outcome outcome = program.run();
      INFO(library << " " << (with.empty() ? "" : with.begin()->first) << ": " << outcome);
      CHECK(outcome.status == 5);
      CHECK(outcome.err.find("---- pktmalloc") != std::string::npos);  // of malloc_stats
    }
  }
}

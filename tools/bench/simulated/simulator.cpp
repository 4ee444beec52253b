// SPDX-License-Identifier: MIT
// What a program's references cost on one core of a known geometry: counts that repeat, where a
// clock scatters.
//
//   valgrind --tool=lackey --trace-mem=yes --trace-syscalls=yes --log-fd=9 PROGRAM 9>&1 >FILE |
//   simulator
//
// reads lackey's trace on stdin and prints one line of JSON. A line of the trace is an instruction
// (I), a load (L), a store (S), or a load with a store to the same place (M), with its address in
// hexadecimal and its length; or a system call; or valgrind's own, which begins with ==. Exit
// status 1 when there is no reference in it.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "tools/bench/simulated/core.h"
#include "tools/bench/simulated/memory_calls.h"
#include "tools/bench/simulated/pipe_lines.h"

namespace {

using simulated::CacheMisses;
using simulated::Core;

// " L 1fff000d18,8"
void reference(Core& core, std::string_view line) {
  const char* const end = line.data() + line.size();
  std::uint64_t address = 0, bytes = 0;
  const auto comma =
      std::from_chars(line.data() + line.find_last_of(' ') + 1, end, address, 16).ptr;
  if (*comma == ',' && std::from_chars(comma + 1, end, bytes).ec == std::errc() && bytes > 0)
    core.reference(address, bytes);
}

void simulate(Core& core) {
  simulated::PipeLines lines(STDIN_FILENO);
  simulated::MemoryCalls calls;
  for (auto line = lines.next(); !line.empty(); line = lines.next()) {
    if (line.starts_with("I")) {
      core.execute();
    } else if (line.starts_with(" ")) {
      reference(core, line);
    } else if (line.starts_with("SYSCALL")) {
      const auto range = calls.released(std::string(line).c_str());
      if (range) core.release(range->address, range->bytes);
    }
  }
}

void print(const char* name, std::uint64_t count) { std::printf("\"%s\": %lu, ", name, count); }

void print(const char* first, const char* second, const char* last, const CacheMisses& misses) {
  print(first, misses.first);
  print(second, misses.second);
  print(last, misses.last);
}

}  // namespace

int main() {
  Core core;
  simulate(core);
  const auto& translation = core.translation();
  std::printf("{");
  print("instructions", core.instructions());
  print("references", core.references());
  print("tlb1_misses", translation.first_misses);
  print("tlb2_misses", translation.second_misses);
  print("walk_references", translation.walk_references);
  print("walk_l1_misses", "walk_l2_misses", "walk_llc_misses", translation.walk_misses);
  print("l1_misses", "l2_misses", "llc_misses", core.data_misses());
  print("page_faults", translation.page_faults);
  std::printf("\"cycles\": %.0f}\n", core.cycles());
  return core.references() > 0 ? 0 : 1;
}

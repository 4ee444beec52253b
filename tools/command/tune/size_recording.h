// SPDX-License-Identifier: MIT
// SizeRecording: what programs asked for, from files that PKTMALLOC_SIZES wrote; those of any
// number of processes are one recording, as if their peaks had been at the same moment. Of several
// files of one process the last holds what the others do, so only that one counts.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace pktmalloc {

struct SizeRecord {
  uint64_t bytes = 0;
  uint64_t alignment = 0;     // as asked for; 0: none
  uint64_t calls = 0;         // that allocated
  uint64_t live_at_peak = 0;  // objects
  uint64_t threads = 0;       // that made calls, of all processes
};

struct SizeRecording {
  std::vector<SizeRecord> sizes;  // ascending by bytes, then alignment; each pair once
  std::set<std::string> programs;
  uint64_t files = 0;    // that count: one a process
  uint64_t earlier = 0;  // further files of the same processes
  uint64_t threads = 0;
  uint64_t missing = 0;           // allocations that are not recorded
  uint64_t usable_sizes = 0;      // that the program asked for
  uint64_t memory = 0;            // bytes, the most that the classes had; 0: not told
  std::vector<uint64_t> classes;  // that they had it with; none: not told, or not the same in all

  uint64_t calls() const;
  uint64_t objects_at_peak() const;
  uint64_t bytes_at_peak() const;
};

// Of each program one, by name. Throws Failure with the path of the first file that cannot be read
// or is none of sizes.
std::vector<SizeRecording> read_sizes(const std::vector<std::string>& paths);

// As if all had their peaks at the same moment.
SizeRecording merge(const std::vector<SizeRecording>& recordings);

}  // namespace pktmalloc

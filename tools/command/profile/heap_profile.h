// SPDX-License-Identifier: MIT
// HeapProfile: a file that the library wrote for PKTMALLOC_PROFILE
// (preload/profile/format_profile.cpp), or any other in the "heapprofile" text format of
// gperftools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command/system/process.h"

namespace pktmalloc {

// Of bytes, with the standard error of the estimate.
struct Estimate {
  double objects = 0, bytes = 0, error = 0;
  uint64_t samples = 0;

  Estimate& operator+=(const Estimate& other);
};

// Executable part of a file, where the process had it.
struct MappedFile : Mapping {
  std::string build_id;  // in hexadecimal; "" if it has none
};

struct HeapProfile {
  struct Place {
    std::vector<uint64_t> frames;  // return addresses, innermost first
    Estimate live;                 // not freed yet
    Estimate all;                  // since start
  };

  std::string file;
  std::string program = "?";
  int pid = 0;
  uint64_t rate = 0;  // bytes a sample; 1: exact, 0: not told
  uint64_t lost = 0;  // samples that could not be kept
  std::vector<Place> places;
  std::vector<MappedFile> mappings;

  // That has the address, or nullptr.
  const MappedFile* mapping_of(uint64_t address) const;
};

// Throws Failure when the file cannot be read or is none, with the line that is wrong.
HeapProfile read_heap_profile(const std::string& path);

}  // namespace pktmalloc

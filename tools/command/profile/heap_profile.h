// SPDX-License-Identifier: MIT
// HeapProfile: a file that the library wrote for PKTMALLOC_PROFILE
// (preload/recording/profile.cpp), or any other in the "heapprofile" text format of
// gperftools.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
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

// Which objects.
enum class Counted : uint8_t { kLive, kPeak, kTotal, kTemporary };
inline constexpr Counted kAllCounted[] = {Counted::kPeak, Counted::kLive, Counted::kTotal,
                                          Counted::kTemporary};

// Its option without dashes, "temporary"; and as what is told of bytes: "live at the peak".
const char* counted_option(Counted counted);
const char* counted_text(Counted counted);

struct Estimates {
  std::array<Estimate, std::size(kAllCounted)> by_counted;

  Estimate& operator[](Counted counted) { return by_counted[static_cast<size_t>(counted)]; }
  const Estimate& operator[](Counted counted) const {
    return by_counted[static_cast<size_t>(counted)];
  }
  Estimates& operator+=(const Estimates& other);
};

// Executable part of a file, where the process had it.
struct MappedFile : Mapping {
  std::string build_id;  // in hexadecimal; "" if it has none
  std::string found_at;  // where it is to be read; "": by its path
};

struct HeapProfile {
  struct Place {
    std::vector<uint64_t> frames;  // return addresses, innermost first
    Estimates amounts;
    bool is_cut = false;  // there are more frames outside
    std::string thread;   // "worker, thread 4711"; "" where threads are not told apart
  };

  std::string file;
  int schema = 1;  // 1: without peaks and temporary objects
  std::string program = "?";
  int pid = 0;
  uint64_t rate = 0;  // bytes a sample; 1: exact, 0: not told
  uint64_t lost = 0;  // samples that could not be kept
  std::vector<Place> places;
  std::vector<MappedFile> mappings;

  bool has(Counted counted) const {
    return schema > 1 || counted == Counted::kLive || counted == Counted::kTotal;
  }

  bool has_threads() const;
  void forget_threads();

  // That has the address, or nullptr.
  const MappedFile* mapping_of(uint64_t address) const;
};

// "a place that holds less than 1.5 MiB may be missing".
std::string missing_text(const HeapProfile& profile);

// Throws Failure when the file cannot be read or is none, with the line that is wrong.
HeapProfile read_heap_profile(const std::string& path);

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// Recording: a file that a process maps shared and keeps its recordings in, so that the kernel
// keeps them however the process ends. The library writes it (recording/recording.h); `pktmalloc
// run` and `pktmalloc recover` write the reports from it that the process itself did not write.
//
// A Header, then chunks. Each chunk belongs to one array, trace buffer or text, as the header's
// directory says. The process writes at any moment and may be killed at any moment: what is more
// than a word and must be whole has two places, and a word says which one counts. Any change here
// raises kVersion.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "preload/formats/heap_profile.h"
#include "preload/formats/sizes.h"
#include "preload/formats/statistics.h"

namespace pktmalloc::recording {

inline constexpr char kMagic[8] = {'p', 'k', 't', 'r', 'e', 'c', 'r', 'd'};
inline constexpr uint32_t kVersion = 5;

inline constexpr size_t kChunkBytes = size_t{64} << 10;  // a thread's buffer of the trace
inline constexpr uint32_t kMostChunks = 4096;            // 256 MiB, of which most is a hole

enum class ChunkKind : uint32_t { kNone, kTrace, kPlaces, kSizes, kMappings, kFrames };
inline constexpr unsigned kChunkKinds = 6;

struct Chunk {
  std::atomic<ChunkKind> kind;  // written last
  uint32_t number;              // among those of its kind
};

enum class Content : uint32_t { kStatistics, kSizes, kProfile, kTrace };
inline constexpr unsigned kContents = 4;

enum class Wanted : uint32_t {
  kNo,
  kYes,
  kDone,  // the process has written it, or said why it cannot
};

struct Report {
  std::atomic<Wanted> wanted;
  char path[PATH_MAX];  // "": text on stderr
};

// A chunk of a trace begins with a trace::OpenBlock.

// A place of the heap profile. Another one is added behind the last, and a sum changes in place.
struct Place {
  PlaceSums sums;
  // Number of a peak. If it is the header's, `sums.peak` was held then; else `sums.live` was: the
  // place has not changed since that peak.
  std::atomic<uint64_t> held_at;
  // Its return addresses lie one after the other in the array of frames, all in one chunk.
  uint32_t first_frame, frame_count;
  bool is_cut;
};
inline constexpr uint32_t kFramesInChunk = kChunkBytes / sizeof(uint64_t);

// What was asked for. Rows are numbered from 1, and change in place as places do.
struct SizeRow {
  SizeCounts counts;
  uint64_t live;
  std::atomic<uint64_t> held_at;  // as that of a place, for `counts.live_at_peak`
};

// Statistics at a moment.
struct Moment {
  uint64_t time_ms;  // since the epoch; 0: none
  Snapshot snapshot;
};

// Two places, of which a word says which one counts.
template <typename T>
struct TwoPlaces {
  std::atomic<uint32_t> latest;  // 0: none, else 1 + the place
  T places[2];

  // One at a time.
  T& next() { return places[latest.load(std::memory_order_relaxed) == 1 ? 1 : 0]; }
  void advance() {
    latest.store(latest.load(std::memory_order_relaxed) == 1 ? 2 : 1, std::memory_order_release);
  }
  const T* last() const {
    const uint32_t n = latest.load(std::memory_order_acquire);
    return n == 1 || n == 2 ? &places[n - 1] : nullptr;
  }
};

struct Header {
  char magic[8];  // written last
  uint32_t version;
  uint32_t bytes;   // of this struct
  uint32_t chunks;  // in the file, behind the header
  int32_t pid;
  char library[16];            // its version
  char program[64], comm[16];  // by its arguments; as in /proc/PID/comm when the recording began

  Report reports[kContents];
  Report& report(Content content) { return reports[static_cast<unsigned>(content)]; }
  std::atomic<uint64_t> refused;  // chunks that could not be had: what was to go there is missing

  // The heap profile.
  uint64_t profile_rate;
  std::atomic<uint64_t> profile_lost;
  std::atomic<uint64_t> profile_peak;  // the number of the latest peak
  std::atomic<uint32_t> places;        // 0 is none
  // Mapped files and their build ids: bytes of the text, which is the chunk of the place's number.
  TwoPlaces<uint32_t> mappings;

  // The sizes.
  uint64_t sizes_started_us;
  std::atomic<uint32_t> sizes;      // rows; 0 is none
  std::atomic<uint64_t> size_peak;  // the number of the latest
  SizeTotals size_totals;
  uint64_t size_classes[kMaxClasses];  // bytes of an object; 0 behind the last

  // The trace: whole blocks in its file, and that file's length then (by the parity of `blocks`).
  std::atomic<uint32_t> trace_blocks;
  uint64_t trace_bytes[2];

  // Statistics: the process notes them while it works, and `pktmalloc run` reads them from outside,
  // which also sees a process that hovers inside its magazines. The later of the two counts.
  TwoPlaces<Moment> inside, outside;

  Chunk directory[kMostChunks];
};

inline constexpr size_t kHeaderBytes =
    (sizeof(Header) + kChunkBytes - 1) / kChunkBytes * kChunkBytes;

}  // namespace pktmalloc::recording

// SPDX-License-Identifier: MIT
// SizeHistogram: how often each size was requested, and how many objects of it were live when the
// program held most.
//
// One row per distinct request (bytes and alignment), made at its first occurrence and never
// removed. The peak is the moment when the requested bytes of all live objects that count for it
// (contract/sizes.h: those that classes may serve) had the highest sum.
// Rows are never copied all at once: the first change of a row after a new peak saves what the row
// held before. So the result is exact where one thread works; otherwise a row is off by at most one
// object for each other thread inside malloc or free at that moment.
//
// The program may reach higher peaks while a report is written, so the report pins its peak: a row
// that must save its value at a later peak keeps its value at the pinned one. Nobody waits for the
// report, which may take as long as it likes.
//
// Any thread; only adding a row takes a lock. Memory comes from the system at first touch: 56 bytes
// a row and a part of 8 MiB for the index, 64 MiB at most.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/lock_rank.h"
#include "preload/process/recording.h"

namespace pktmalloc {

class SizeHistogram {
 public:
  static constexpr unsigned kRowBits = 19;
  static constexpr uint32_t kMostRows = (1U << kRowBits) - 1;
  static constexpr uint32_t kNoRow = 0;

  struct Row {
    uint64_t bytes;
    uint64_t alignment;             // as asked for; 0: none
    std::atomic<uint64_t> calls;    // that allocated
    std::atomic<int64_t> live;      // objects
    std::atomic<uint64_t> held;     // tag of a peak << 32 | objects live then
    std::atomic<uint64_t> kept;     // the same for the pinned peak, when `held` is of a later one
    std::atomic<uint32_t> threads;  // that made calls
  };

  constexpr SizeHistogram() = default;

  // False when the system refuses memory.
  bool start();

  // The row of such requests; kNoRow when there are too many kinds.
  uint32_t find(size_t bytes, size_t alignment);

  void add_object(uint32_t row);
  void remove_object(uint32_t row);

  // Rows are 1 to rows().
  uint32_t rows() const { return count_.load(std::memory_order_acquire); }
  Row& operator[](uint32_t row) { return rows_[row]; }

  // A row has one more thread.
  void add_thread(uint32_t row);

  // For a report, one at a time: returns the highest peak so far; what rows held then stays until
  // the next pin.
  uint64_t pin_peak();
  uint64_t live_at_pinned_peak(const Row& row) const;

  // Keeps the objects; calls, threads and the peak begin anew. One thread.
  void begin_anew();

  Mutex& mutex() { return mutex_; }

 private:
  uint32_t add(size_t bytes, size_t alignment, size_t slot);
  void note_held(Row& row, recording::SizeRow* recorded);
  void record_peak(uint64_t peak);
  void keep_pinned(Row& row);

  Mutex mutex_{lock_rank(OuterRank::kSizeRows)};
  Row* rows_ = nullptr;
  std::atomic<uint32_t>* slots_ = nullptr;  // row numbers, by hash of bytes and alignment
  std::atomic<uint32_t> count_ = 0;         // raised under mutex_
  RecordedArray<recording::SizeRow> recorded_{recording::ChunkKind::kSizes};
  std::atomic<uint64_t> total_bytes_ = 0;  // of live objects that count
  std::atomic<uint64_t> peak_bytes_ = 0;
  std::atomic<uint64_t> pinned_bytes_ = 0;  // a former value of peak_bytes_
};

}  // namespace pktmalloc

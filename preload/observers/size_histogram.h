// SPDX-License-Identifier: MIT
// SizeHistogram: how often each size was requested, and how many objects of it were live when the
// program held most.
//
// A row per distinct request (bytes and alignment), made at the first one of its kind and never
// removed. The peak is the moment at which the sum of requested bytes of all live objects was
// highest. What each row held then is known without ever copying all rows: the first change of a
// row after a new peak puts by what the row held before. So it is exact where one thread works;
// otherwise a row is off by at most one object for each other thread that was inside malloc or free
// at that moment.
//
// A report is written while the program goes on to higher peaks, so it pins the one that it tells:
// a row that is to put by what it held at a later peak keeps what it held at the pinned one. Nobody
// waits for the report, which may take as long as it likes.
//
// Any thread; a lock only to add a row. Memory comes from the system, at first touch: 56 bytes a
// row and a part of 8 MiB for what finds them, 64 MiB at the most.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/lock_rank.h"

namespace pktmalloc {

class SizeHistogram {
 public:
  static constexpr unsigned kRowBits = 20;
  static constexpr uint32_t kMostRows = (1U << kRowBits) - 1;
  static constexpr uint32_t kNoRow = 0;

  struct Row {
    uint64_t bytes;
    uint64_t alignment;             // as asked for; 0: none
    std::atomic<uint64_t> calls;    // that allocated
    std::atomic<int64_t> live;      // objects
    std::atomic<uint64_t> held;     // tag of a peak << 32 | objects that were live then
    std::atomic<uint64_t> kept;     // the same of the pinned peak, where `held` is of a later one
    std::atomic<uint32_t> threads;  // that made calls
  };

  constexpr SizeHistogram() = default;

  // False when the system refuses memory.
  bool start();

  // The row of such requests, kNoRow when there are too many kinds.
  uint32_t find(size_t bytes, size_t alignment);

  void add_object(uint32_t row);
  void remove_object(uint32_t row);

  // Rows are 1 to rows().
  uint32_t rows() const { return count_.load(std::memory_order_acquire); }
  Row& operator[](uint32_t row) { return rows_[row]; }

  // For a report, one at a time: the highest peak so far, and what rows held then until the next
  // pin.
  uint64_t pin_peak();
  uint64_t live_at_pinned_peak(const Row& row) const;

  // Objects stay; calls, threads and the peak begin anew. One thread.
  void begin_anew();

  Mutex& mutex() { return mutex_; }

 private:
  uint32_t add(size_t bytes, size_t alignment, size_t slot);
  void note_held(Row& row);
  void keep_pinned(Row& row);

  Mutex mutex_{lock_rank(OuterRank::kSizeRows)};
  Row* rows_ = nullptr;
  std::atomic<uint32_t>* slots_ = nullptr;  // a row's number, by hash of bytes and alignment
  std::atomic<uint32_t> count_ = 0;         // raised under mutex_
  std::atomic<uint64_t> total_bytes_ = 0;   // of live objects
  std::atomic<uint64_t> peak_bytes_ = 0;
  std::atomic<uint64_t> pinned_bytes_ = 0;  // a value that peak_bytes_ had
};

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// How a heap copes when the system gives little: Heap::decommit for memory, give_back_addresses for
// addresses.
#include "sizeclass/heap.h"
#include "sizeclass/memory.h"

namespace pktmalloc {
namespace {

// A reservation that keeps some stretches, named in ascending order.
class Reservation {
 public:
  explicit Reservation(const void* start) : at_(reinterpret_cast<uintptr_t>(start)) {}

  void keep(const void* start, size_t bytes) {
    if (bytes == 0) return;
    end(start);
    at_ += bytes;
  }

  void keep_slabs(const SlabArea* areas, unsigned count) NOT_FOLLOWED {
    uint32_t next[kMaxClasses]{};  // of each area, the next slab to look at
    for (;;) {
      unsigned lowest = count;
      uintptr_t start = ~uintptr_t{0};
      for (unsigned i = 0; i < count; ++i) {
        if (!areas[i].next_mapped(next[i])) continue;
        const uintptr_t its = areas[i].place().start_of(next[i]);
        if (its < start) {
          start = its;
          lowest = i;
        }
      }
      if (lowest == count) return;
      keep(reinterpret_cast<void*>(start), areas[lowest].slab_bytes());
      ++next[lowest];
    }
  }

  void end(const void* end) {
    const uintptr_t to = reinterpret_cast<uintptr_t>(end);
    if (to > at_) memory::release(reinterpret_cast<void*>(at_), to - at_);
    at_ = to;
  }

 private:
  uintptr_t at_;  // done up to here
};

}  // namespace

// Leaves out the slabs of magazines: a thread with an old depot head may still read one.
void Heap::decommit(Cache* cache) {
  trim(cache);
  for (unsigned i = 0; i < classes_.count() && started_; ++i) areas_[i].decommit_purged();
}

void Heap::give_back_addresses(size_t limit) {
  if (!started_) return;
  lock_all();
  for (unsigned i = 0; i < classes_.count(); ++i) areas_[i].let_grow(limit >= kFewAddresses);
  if (quick_bytes_ > 0) {
    quick_bytes_ = 0;  // before the first address can be somebody else's
    for (Cache* cache = caches_.first(); cache != nullptr; cache = cache->next) cache->set_near(0);
    for (unsigned i = 0; i < classes_.count(); ++i) areas_[i].map_as_needed(true);
    // A thread with an old depot head may still read a purged magazine.
    for (unsigned i = 0; i < kMagazineSizes; ++i) store_.area(i).map_as_needed(false);

    Reservation objects(reinterpret_cast<void*>(base_));
    objects.keep_slabs(areas_, classes_.count());
    objects.end(reinterpret_cast<void*>(base_ + bytes_));

    if (states_.exist()) {
      Reservation states(reinterpret_cast<void*>(states_.begin()));
      states_.each_open([&](uintptr_t words, size_t bytes) {
        states.keep(reinterpret_cast<void*>(words), bytes);
      });
      states.end(reinterpret_cast<void*>(states_.end()));
    }

    char* const start = static_cast<char*>(bookkeeping_);
    Reservation bookkeeping(start);
    bookkeeping.keep(start + memory::page_bytes(), early_committed_bytes_);
    bookkeeping.keep(caches_.region(), caches_.committed_bytes());
    const auto keep_records = [&](const SlabArea& area) {
      area.each_late([&](const void* late, size_t bytes) { bookkeeping.keep(late, bytes); });
    };
    for (unsigned i = 0; i < kMagazineSizes; ++i) keep_records(store_.area(i));
    for (unsigned i = 0; i < classes_.count(); ++i) keep_records(areas_[i]);
    bookkeeping.keep_slabs(&store_.area(0), kMagazineSizes);
    bookkeeping.end(start + bookkeeping_bytes_);
  }
  unlock_all();
}

}  // namespace pktmalloc

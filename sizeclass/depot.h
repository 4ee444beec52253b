// SPDX-License-Identifier: MIT
// Depot: the global exchange. It has a (sharded) stack per class of magazines that hold objects and
// wait for a thread that needs them. Any batch changes hands by one pointer, however long it is.
// Any thread, no lock.
#pragma once

#include <cstdint>

#include "sizeclass/allowance.h"
#include "sizeclass/class_id.h"
#include "sizeclass/sharded_stack.h"

namespace pktmalloc {

class Depot {
 public:
  constexpr Depot() = default;

  // nullptr when no magazine of the class waits. The caller owns it; rounds >= 1. `home`: the shard
  // to try first (sharded_stack.h).
  Magazine* take(ClassId id, unsigned home = 0) { return stacks_[index(id)].pop(home); }

  // The magazine holds at least one object of the class; the caller gives it away.
  void give(ClassId id, Magazine* magazine, unsigned home = 0) {
    stacks_[index(id)].push(magazine, home);
  }

  // Are free objects of the class worth a new magazine for so many (allowance.h)? False: return
  // them to their slabs.
  bool grants_magazine(ClassId id, uint32_t rounds) {
    Allowance& allowance = allowances_[index(id)];
    const size_t bytes = depth(id) * bytes_of_size(size_for_rounds(rounds));
    if (bytes < kUnearned || allowance.spend()) return true;
    allowance.refuse();
    return false;
  }

  // A magazine of the class, of a busy thread's size, was filled from slabs.
  void note_refill(ClassId id) { allowances_[index(id)].refill(); }

  // See MagazineStack.
  void freeze() {
    for (auto& stack : stacks_) stack.freeze();
  }
  void thaw() {
    for (auto& stack : stacks_) stack.thaw();
  }

  uint32_t depth(ClassId id) const { return stacks_[index(id)].depth(); }
  uint32_t depth(ClassId id, unsigned home) const { return stacks_[index(id)].depth(home); }

  // For ageing, see ShardedStack.
  uint32_t tick(ClassId id) { return stacks_[index(id)].tick(); }
  uint32_t make_idle(ClassId id) { return stacks_[index(id)].make_idle(); }
  Magazine* take_idle(ClassId id) { return stacks_[index(id)].pop_idle(); }

 private:
  // Bytes of magazines of a class that may wait before more must be earned.
  static constexpr size_t kUnearned = size_t{48} << 10;

  ShardedStack stacks_[kMaxClasses];
  Allowance allowances_[kMaxClasses];
};

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// Depot: the global exchange. Magazines that hold objects wait here, by class, for a thread that
// needs them: the newest of each home in its mail, those behind in (sharded) stacks. Any batch
// changes hands by one pointer, however long it is. Any thread, no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/class_id.h"
#include "sizeclass/base/memory_limit.h"
#include "sizeclass/exchange/magazine_stack.h"
#include "sizeclass/exchange/mail.h"

namespace pktmalloc {

class Depot {
 public:
  // Where a home's threads exchange magazines; the common trip needs no more.
  Mail& mail(ClassId id, size_t home) { return mails_[home * kMaxClasses + index(id)]; }
  const Mail& mail(ClassId id, size_t home) const { return mails_[home * kMaxClasses + index(id)]; }

  // nullptr when no magazine of the class waits. The caller owns it; rounds >= 1. From the home,
  // else from its neighbours: home ^ 1, then the rest of its four, then the other four. `source`
  // becomes where it was found. `turn`: of the giver, if it is the same thread (mail.h).
  Magazine* take(ClassId id, unsigned home, uint8_t& source, uint64_t turn) {
    std::atomic<bool>& holds = holds_[index(id)];
    if (!holds.load(std::memory_order_relaxed)) return nullptr;
    Magazine* magazine = search(id, home, source, turn);
    if (magazine != nullptr) return magazine;
    // Partner: note(). One of the two sees the other.
    holds.exchange(false, std::memory_order_seq_cst);
    magazine = search(id, home, source, turn);
    if (magazine != nullptr || has_mail(id)) holds.store(true, std::memory_order_relaxed);
    return magazine;
  }

  // The magazine holds at least one object of the class; the caller gives it away.
  void give(ClassId id, Magazine* magazine, unsigned home = 0) {
    stacks_[index(id)].push(magazine, home);
    note(id);
  }
  // The same for one that others like best: the mail holds the newest. `turn`: which of those makes
  // room, in turn. Returns an empty one that made room, or nullptr.
  Magazine* post(ClassId id, Magazine* magazine, unsigned home, uint64_t turn) {
    Mail::Word word = Mail::full(magazine, magazine->rounds);
    if (leave(id, word, home, turn)) return nullptr;
    word = mail(id, home).replace(word, turn);
    note(id);
    if (!Mail::is_full(word)) return Mail::magazine(word);
    give(id, open(word), home);
    return nullptr;
  }

  // A word for the mail, where there is a place for it.
  bool leave(ClassId id, Mail::Word word, unsigned home, uint64_t turn) {
    const bool left = mail(id, home).leave(word, turn);
    if (left) note(id);
    return left;
  }

  // The same if there is an empty one for it, of so many rounds at least; else nullptr.
  Magazine* exchange(ClassId id, Magazine* magazine, uint32_t capacity, unsigned home,
                     uint64_t turn) {
    return open(mail(id, home).give(Mail::full(magazine, magazine->rounds), capacity, turn));
  }

  // Are free objects of the class worth a new magazine? False: return them to their slabs.
  // `largest_rounds`: of the class.
  //
  // A magazine costs 8 bytes per object, an eighth of a 64-byte object, and freed memory may never
  // be wanted again. So beyond a few magazines in the depot, free objects get a new magazine only
  // when it would have paid before: objects went back to their slabs for want of one, and then a
  // magazine was filled from the slabs again. A program that frees everything takes no memory to do
  // so; one that goes up and down pays the first time and then has its magazines. The counts may be
  // off by a few, which is harmless.
  bool grants_magazine(ClassId id, uint32_t largest_rounds) {
    if (objects(id) < kUnearned * largest_rounds) return true;
    if (subtract_at_most(allowances_[index(id)].earned, 1) != 0) return true;
    allowances_[index(id)].refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  // A magazine of the class, of a busy thread's size, was filled from slabs.
  void note_refill(ClassId id) {
    auto& [refused, earned] = allowances_[index(id)];
    if (subtract_at_most(refused, 1) != 0) earned.fetch_add(1, std::memory_order_relaxed);
  }

  // See MagazineStack.
  void freeze() {
    for (auto& stack : stacks_) stack.freeze();
    for (unsigned n = 0; n < kMails; ++n) mails_[n].freeze(kept_[n]);
  }
  void thaw() {
    for (auto& holds : holds_) holds.store(true, std::memory_order_relaxed);
    for (unsigned n = 0; n < kMails; ++n) mails_[n].thaw(kept_[n]);
    for (auto& stack : stacks_) stack.thaw();
  }

  // Objects that wait, in all and at one home. Touches no memory of a class that nothing waits in.
  uint64_t objects(ClassId id) const {
    uint64_t sum = 0;
    for (unsigned home = 0; home < ShardedStack::kShards; ++home) sum += objects(id, home);
    return sum;
  }
  uint64_t objects(ClassId id, unsigned home) const {
    if (!holds_[index(id)].load(std::memory_order_relaxed)) return 0;
    return uint64_t{stacks_[index(id)].objects(home)} + mail(id, home).objects();
  }

  // For a reader outside the process (heap_window.h).
  const ShardedStack& stack(ClassId id) const { return stacks_[index(id)]; }
  const Mail* mails() const { return mails_; }

  // For ageing: as in ShardedStack, of all magazines here, empty ones too.
  uint32_t tick(ClassId id) {
    if (!holds_[index(id)].load(std::memory_order_relaxed)) return 0;
    uint32_t idle = stacks_[index(id)].tick();
    for (unsigned n = 0; n < ShardedStack::kShards; ++n) idle += mail(id, n).tick();
    return idle;
  }
  Magazine* take_idle(ClassId id) {
    Magazine* magazine = stacks_[index(id)].pop_idle();
    for (unsigned n = 0; magazine == nullptr && n < ShardedStack::kShards; ++n) {
      magazine = open(mail(id, n).take_old());
    }
    return magazine;
  }

 private:
  Magazine* search(ClassId id, unsigned home, uint8_t& source, uint64_t turn) {
    for (unsigned n = 0; n < ShardedStack::kShards; ++n) {
      const unsigned other = home ^ n;
      Magazine* magazine = open(mail(id, other).take(0, turn));
      if (magazine == nullptr) magazine = stacks_[index(id)].pop_at(other);
      if (magazine == nullptr) continue;
      source = static_cast<uint8_t>(other);
      return magazine;
    }
    return nullptr;
  }
  // Is there any, full or not, that a common trip could swap?
  bool has_mail(ClassId id) const {
    Mail::Word all = 0;
    for (unsigned home = 0; home < ShardedStack::kShards; ++home) {
      for (unsigned n = 0; n < Mail::kWords; ++n) all |= mail(id, home).word(n);
    }
    return all != 0;
  }
  // After a magazine came where there may have been none.
  void note(ClassId id) {
    machine::order_after_locked();
    std::atomic<bool>& holds = holds_[index(id)];
    if (!holds.load(std::memory_order_relaxed)) holds.store(true, std::memory_order_relaxed);
  }

  // The objects of so many of the largest may wait before more must be earned.
  static constexpr uint64_t kUnearned = 16;

  // The magazine of a word, or nullptr.
  static Magazine* open(Mail::Word word) {
    Magazine* const magazine = Mail::magazine(word);
    if (magazine != nullptr) magazine->rounds = Mail::is_full(word) ? Mail::rounds(word) : 0;
    return magazine;
  }

  static constexpr unsigned kMails = ShardedStack::kShards * kMaxClasses;

  // False: nobody finds anything in the class's stacks and mails.
  std::atomic<bool> holds_[kMaxClasses]{};
  Mail mails_[kMails]{};  // those of a home lie side by side
  ShardedStack stacks_[kMaxClasses];
  // New magazines of the class: those that were not granted, and those that are to be.
  struct {
    std::atomic<uint64_t> refused = 0, earned = 0;
  } allowances_[kMaxClasses];
  Mail::Word kept_[kMails][Mail::kWords]{};  // while frozen
};

}  // namespace pktmalloc

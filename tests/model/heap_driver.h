// SPDX-License-Identifier: MIT
// HeapDriver: a heap that obeys a list of bytes, beside a model of what must hold.
//
// Any byte sequence is a valid program, so it may come from a random generator or from a fuzzer. An
// instruction is one byte and takes its operands from the bytes that follow; missing ones are zero.
// After each instruction what it touched is checked, and kCheck (which run() also does at the end)
// compares every public number with the model. What does not hold is thrown as BrokenInvariant. At
// the end everything is given back and nothing may be left.
// One thread plays all threads: it owns several caches and uses whichever the bytes name.
// Ageing runs on instruction only: the heap's interval must be longer than the run.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/started_heap.h"

namespace pktmalloc::test {

struct BrokenInvariant : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class HeapDriver {
 public:
  static constexpr unsigned kCaches = 5;  // the last is never attached: direct mode

  explicit HeapDriver(const HeapConfig& config) {
    check(heap_.start(config), "the heap does not start");
    units_ = StartedHeap::units_of(config);
    allocs_.resize(kMaxClasses);
    frees_.resize(kMaxClasses);
    live_.resize(kMaxClasses);
  }
  ~HeapDriver() { heap_.stop(); }
  HeapDriver(const HeapDriver&) = delete;
  HeapDriver& operator=(const HeapDriver&) = delete;

  void run(const uint8_t* bytes, size_t count) {
    next_ = bytes;
    end_ = bytes + count;
    for (; next_ != end_; ++instructions_) step();
    check_all();
    give_all_back();
  }

  uint64_t instructions() const { return instructions_; }
  uint64_t allocs() const { return sum(allocs_); }
  uint64_t refusals() const { return refusals_; }

 private:
  enum Instruction : uint8_t {
    kAllocate,      // cache, class, how many
    kAllocateSize,  // cache, size: two bytes, in units of 16
    kRelease,       // cache, which
    kReleaseMany,   // cache, class, how many
    kHover,         // cache, class, how often
    kTakeBlock,     // cache, how large
    kResizeBlock,   // which, how large
    kGiveBlock,     // cache, which
    kAttach,        // cache
    kDetach,        // cache
    kTrim,          // cache; every other time decommits as well
    kAge,           // how often
    kLock,          // freeze and thaw
    kCheck,
    kInstructions
  };
  struct Live {
    void* object;
    uint64_t serial;
  };

  uint8_t byte() { return next_ != end_ ? *next_++ : uint8_t{0}; }
  unsigned number() { return byte() | unsigned{byte()} << 8; }
  ClassId class_operand() {
    // The smaller half of the classes is drawn more often: they have more to offer.
    const unsigned drawn = byte();
    const unsigned count = heap_.classes().count();
    return static_cast<ClassId>(1 +
                                (drawn < 192 ? drawn % (count / 2 + 1) % count : drawn % count));
  }
  unsigned cache_operand() { return byte() % kCaches; }
  static void check(bool holds, const char* what) {
    if (!holds) throw BrokenInvariant(what);
  }
  static void check_class(bool holds, const char* what, size_t object_bytes) {
    if (!holds)
      throw BrokenInvariant(std::string(what) + ", class " + std::to_string(object_bytes));
  }
  static uint64_t sum(const std::vector<uint64_t>& counts) {
    uint64_t all = 0;
    for (const uint64_t count : counts) all += count;
    return all;
  }

  void step() {
    switch (byte() % kInstructions) {
      case kAllocate: {
        Cache* cache = caches_[cache_operand()];
        const ClassId id = class_operand();
        for (unsigned n = byte() + 1U; n > 0; --n) allocate(cache, id);
        break;
      }
      case kAllocateSize: {
        Cache* cache = caches_[cache_operand()];
        const size_t bytes = size_t{number()} * 16;
        const ClassId id = heap_.classes().find(bytes);
        if (id == kNoClass) {
          check(heap_.allocate(cache, id) == nullptr, "kNoClass served");
        } else {
          check(heap_.classes()[id].object_bytes >= bytes, "class too small");
          allocate(cache, id);
        }
        break;
      }
      case kRelease: {
        Cache* cache = caches_[cache_operand()];
        const ClassId id = class_operand();
        release(cache, id, number());
        break;
      }
      case kReleaseMany: {
        Cache* cache = caches_[cache_operand()];
        const ClassId id = class_operand();
        const unsigned stride = byte();
        for (unsigned n = 2 * byte() + 1U; n > 0; --n) release(cache, id, n * stride);
        break;
      }
      case kHover: {
        Cache* cache = caches_[cache_operand()];
        const ClassId id = class_operand();
        for (unsigned n = byte(); n > 0; --n) {
          if (allocate(cache, id)) release(cache, id, ~size_t{0});
        }
        break;
      }
      case kTakeBlock: {
        Cache* cache = caches_[cache_operand()];
        take_block(cache, block_operand());
        break;
      }
      case kResizeBlock: {
        const unsigned which = byte();
        resize_block(which, block_operand());
        break;
      }
      case kGiveBlock: {
        Cache* cache = caches_[cache_operand()];
        give_block(cache, byte());
        break;
      }
      case kAttach: {
        const unsigned n = cache_operand();
        if (n + 1 == kCaches || caches_[n] != nullptr) break;
        caches_[n] = heap_.attach();
        check(caches_[n] != nullptr, "no cache");
        known_.insert(caches_[n]);
        for (unsigned other = 0; other < kCaches; ++other) {
          check(other == n || caches_[other] != caches_[n], "a cache attached twice");
        }
        ++attached_;
        break;
      }
      case kDetach:
        detach(cache_operand());
        break;
      case kTrim:
        if (instructions_ % 2 == 0) heap_.decommit(caches_[0]);
        trim(caches_[cache_operand()]);
        break;
      case kAge:
        for (unsigned n = byte() % 12; n > 0; --n) heap_.age();
        break;
      case kLock:
        heap_.lock_all();
        heap_.unlock_all();
        break;
      default:
        check_all();
    }
  }

  bool allocate(Cache* cache, ClassId id) {
    void* object = heap_.allocate(cache, id);
    const size_t bytes = heap_.classes()[id].object_bytes;
    if (object == nullptr) {
      ++refusals_;
      check_refusal(id);
      return false;
    }
    ++allocs_[index(id)];
    check_class(heap_.class_of(object) == id, "object in another's unit", bytes);
    const uintptr_t at = reinterpret_cast<uintptr_t>(object);
    check_class(at % heap_.classes()[id].alignment() == 0, "object not aligned", bytes);
    check_class(cover(at, bytes), "object overlaps", bytes);
    live_[index(id)].push_back({object, ++serial_});
    mark(object, bytes) = serial_;
    *static_cast<uint64_t*>(object) = serial_;
    return true;
  }

  // From now on live; false: it overlaps with what is.
  bool cover(uintptr_t at, size_t bytes) {
    const auto above = all_.lower_bound(at);
    if (above != all_.end() && at + bytes > above->first) return false;
    if (above != all_.begin() && std::prev(above)->second > at) return false;
    all_.emplace_hint(above, at, at + bytes);
    return true;
  }

  void release(Cache* cache, ClassId id, size_t which) {
    std::vector<Live>& live = live_[index(id)];
    if (live.empty()) return;
    const size_t bytes = heap_.classes()[id].object_bytes;
    const size_t n = which == ~size_t{0} ? live.size() - 1 : which % live.size();
    const Live gone = live[n];
    check_class(*static_cast<uint64_t*>(gone.object) == gone.serial, "first bytes changed", bytes);
    check_class(mark(gone.object, bytes) == gone.serial, "last bytes changed", bytes);
    live[n] = live.back();
    live.pop_back();
    all_.erase(reinterpret_cast<uintptr_t>(gone.object));
    ++frees_[index(id)];
    heap_.release(cache, id, gone.object);
  }

  size_t block_operand() { return ClassTable::kDefaultLimit + 8 + size_t{byte()} * 5000; }
  void take_block(Cache* cache, size_t bytes) {
    void* const block = heap_.allocate_block(cache, bytes);
    if (block == nullptr) return void(++refusals_);
    ++blocks_taken_;
    check(heap_.class_of(block) == kNoClass && !heap_.is_nobodys(block), "whose is a block");
    hold_block({block, ++serial_}, bytes);
  }
  void hold_block(const Live& block, size_t bytes) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(block.object);
    const size_t units = heap_.block_bytes(block.object);
    check(units >= bytes && units - bytes < size_t{1} << SlabPool::kUnitShift, "a block's size");
    check(cover(at, units), "a block overlaps");
    blocks_.push_back(block);
    mark(block.object, bytes) = block.serial;
    mark(block.object, units) = block.serial;
    *static_cast<uint64_t*>(block.object) = block.serial;
    check(heap_.is_nobodys(static_cast<char*>(block.object) + 16), "whose is a block's inside");
  }
  Live let_go_of_block(size_t which) {
    std::swap(blocks_[which % blocks_.size()], blocks_.back());
    const Live block = blocks_.back();
    blocks_.pop_back();
    all_.erase(reinterpret_cast<uintptr_t>(block.object));
    check(*static_cast<uint64_t*>(block.object) == block.serial, "a block's first bytes changed");
    return block;
  }
  void resize_block(size_t which, size_t bytes) {
    if (blocks_.empty()) return;
    const Live block = let_go_of_block(which);
    const size_t before = heap_.block_bytes(block.object);
    const bool done = heap_.resize_block(nullptr, block.object, bytes);
    check(done || bytes > before, "a block does not shrink");
    hold_block(block, done ? bytes : before);
  }
  void give_block(Cache* cache, size_t which) {
    if (blocks_.empty()) return;
    const Live block = let_go_of_block(which);
    check(mark(block.object, heap_.block_bytes(block.object)) == block.serial,
          "a block's last bytes changed");
    heap_.release_block(cache, block.object);
    check(heap_.block_bytes(block.object) == 0, "a block after its release");
  }

  static uint64_t& mark(void* object, size_t bytes) {
    return *reinterpret_cast<uint64_t*>(static_cast<char*>(object) + bytes - sizeof(uint64_t));
  }

  // A class may refuse only when all its objects are live or in magazines, and there are no units
  // for a slab.
  void check_refusal(ClassId id) {
    HeapStatistics s;
    heap_.statistics(s);
    const ClassStatistics& c = s.of[index(id) - 1];
    check_class(c.cached_slabs == 0, "refused with free objects in slabs", c.object_bytes);
    check_class(!has_units_for(heap_, id, units_), "refused with units free", c.object_bytes);
  }

  void detach(unsigned n) {
    if (caches_[n] == nullptr) return;
    Cache* const cache = caches_[n];
    caches_[n] = nullptr;
    heap_.detach(cache);
    for (const ClassId id : heap_.classes().ids()) {
      const size_t bytes = cache->statistics(id).held * heap_.classes()[id].object_bytes;
      check(bytes <= ClassTable::kUsualMagazineBytes, "a detached cache keeps much");
    }
  }

  void trim(Cache* cache) {
    heap_.trim(cache);
    HeapStatistics s;
    heap_.statistics(s);
    for (unsigned i = 0; i < s.classes; ++i) {
      check_class(s.of[i].cached_depot == 0, "trim left a magazine", s.of[i].object_bytes);
      const bool alone = std::ranges::all_of(
          caches_, [=](const Cache* other) { return other == cache || other == nullptr; });
      check_class(!alone || s.of[i].cached_threads == 0, "trim left what ended threads had",
                  s.of[i].object_bytes);
    }
    check(s.waiting_bytes == 0, "trim left bytes waiting");
  }

  void check_all() {
    HeapStatistics s;
    heap_.statistics(s);
    check(s.classes == heap_.classes().count(), "classes");
    unsigned alive = 0;
    for (const Cache* cache : caches_) alive += cache != nullptr;
    check(s.threads_alive == alive, "threads alive");
    check(s.threads_seen == attached_, "threads seen");
    uint64_t committed = 0;
    for (const ClassId id : heap_.classes().ids()) {
      const unsigned i = index(id);
      const ClassStatistics& c = s.of[i - 1];
      const SizeClass& shape = heap_.classes()[id];
      const auto holds = [&](bool it, const char* what) { check_class(it, what, c.object_bytes); };
      holds(c.object_bytes == shape.object_bytes, "object bytes");
      holds(c.allocs == allocs_[i], "allocs");
      holds(c.frees == frees_[i], "frees");
      holds(c.live == live_[i].size(), "live");
      holds(c.committed_bytes == c.active_bytes + c.free_bytes, "committed");
      const uint64_t objects = c.live + c.cached_threads + c.cached_depot + c.cached_slabs;
      holds(objects % shape.objects_per_slab == 0, "objects are not whole slabs");
      const uint64_t slab_bytes = uint64_t{shape.units} << SlabPool::kUnitShift;
      holds(objects / shape.objects_per_slab * slab_bytes == c.active_bytes, "active slabs");
      uint64_t held = 0;
      for (const Cache* cache : known_) held += cache->statistics(id).held;
      holds(c.cached_threads == held, "cached in threads");
      committed += c.committed_bytes;
    }
    uint64_t block_bytes = 0;
    for (const Live& block : blocks_) block_bytes += heap_.block_bytes(block.object);
    check(s.blocks.active_bytes == block_bytes, "bytes of blocks");
    check(s.blocks.live == blocks_.size() && s.blocks.allocs == blocks_taken_, "blocks");
    committed += s.blocks.committed_bytes;
    check(committed <= uint64_t{units_} << SlabPool::kUnitShift, "more than there is");
  }

  void give_all_back() {
    for (unsigned n = 0; !blocks_.empty(); ++n) give_block(caches_[n % kCaches], n);
    for (const ClassId id : heap_.classes().ids()) {
      for (unsigned n = index(id); !live_[index(id)].empty(); ++n) {
        release(caches_[n % kCaches], id, n);
      }
    }
    check_all();
    for (unsigned n = 0; n < kCaches; ++n) detach(n);
    trim(nullptr);
    check_all();
    HeapStatistics s;
    heap_.statistics(s);
    for (unsigned i = 0; i < s.classes; ++i) {
      const ClassStatistics& c = s.of[i];
      check_class(c.cached_threads + c.cached_depot + c.cached_slabs == 0, "something is left",
                  c.object_bytes);
      check_class(c.active_bytes == 0 && c.live == 0, "something is active", c.object_bytes);
    }
    check(heap_.resident_bytes() == 0, "something is resident");
  }

  Heap heap_;
  uint32_t units_ = 0;
  std::array<Cache*, kCaches> caches_{};
  std::set<const Cache*> known_;  // all that ever were: one without a thread may hold something
  std::vector<std::vector<Live>> live_;  // by class
  std::map<uintptr_t, uintptr_t> all_;   // begin and end of every live object
  std::vector<uint64_t> allocs_, frees_;
  std::vector<Live> blocks_;
  uint64_t blocks_taken_ = 0;
  uint64_t instructions_ = 0, serial_ = 0, attached_ = 0, refusals_ = 0;
  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
};

}  // namespace pktmalloc::test

// SPDX-License-Identifier: MIT
#include "preload/serving/fast_path.h"

#include <cerrno>
#include <utility>

#include "preload/formats/statistics.h"
#include "preload/guard/sample_guard.h"
#include "preload/process/next_allocator.h"
#include "preload/process/process.h"
#include "preload/recording/observer.h"
#include "preload/recording/profile.h"
#include "preload/recording/sampler.h"
#include "preload/reports/report.h"
#include "preload/stacks/stacks.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/heap/lean_trip.h"

namespace pktmalloc {

namespace {

// kNoClass: a block, if any serves so many bytes.
void* allocate_pooled(ClassId id, size_t bytes, bool* zero) {
  Cache* cache = cache_of_this_thread();
  const bool is_block = id == kNoClass;
  void* p = is_block ? heap.allocate_block(cache, bytes, zero) : heap.allocate(cache, id, zero);
  publish(cache);
  if (sampling && !is_block) [[unlikely]]
    sample_mark(id, p != nullptr);
  consider_moment();
  if (cache == nullptr) return p;  // a thread after its end starts none
  background_consider();
  consider_report_thread();
  return p;
}

// If the allocation under way is one.
void* sampled(Site site, void* p, size_t bytes) {
  if (this_thread.sampled) [[unlikely]] {
    this_thread.sampled = false;
    if (p != nullptr) sample_taken(p, bytes, site);
  }
  return p;
}

constexpr size_t kUnitBytes = size_t{1} << SlabPool::kUnitShift;

PassReason why_passed(ClassId id, size_t bytes, size_t alignment) {
  if (!heap.started()) return PassReason::kNotReserved;
  if (bytes > std::max(heap.most_block(), heap.classes().largest())) return PassReason::kTooLarge;
  if (alignment > kUnitBytes) return PassReason::kTooAligned;
  if (id != kNoClass || bytes > ClassTable::kDefaultLimit) return PassReason::kExhausted;
  return alignment > ClassTable::kSmallStep ? PassReason::kTooAligned : PassReason::kClassOff;
}

// One more request went to the next allocator. No locked instruction if the thread has a cache.
void count_pass(PassReason reason, size_t bytes) {
  const auto band = static_cast<unsigned>(
      std::lower_bound(kSizeBandEnd, kSizeBandEnd + kSizeBands - 1, bytes) - kSizeBandEnd);
  heap.tally(this_thread.cache, pass_tally(static_cast<unsigned>(reason), band));
}

// An object of the class `id`, or a block; or nullptr, after counting why, the first time.
void* try_classes(size_t bytes, size_t alignment, bool again, ClassId& id, bool* zero) {
  if (this_thread.forking) return nullptr;  // the next allocator's locks are free
  cache_of_this_thread();  // the very first request starts the process: then there are classes
  id = heap.started() ? heap.classes().find_aligned(bytes, alignment) : kNoClass;
  if (sampling && sample_due(id, bytes) && !again) [[unlikely]] {
    void* const p = guards_samples ? allocate_sampled(bytes, alignment) : nullptr;
    if (p != nullptr || !guards_samples) {
      this_thread.sampled = true;
      sample_mark(id, true);
      if (p != nullptr || id != kNoClass) return p;
    }
  }
  void* const p =
      id != kNoClass || alignment <= kUnitBytes ? allocate_pooled(id, bytes, zero) : nullptr;
  // In strict mode what waits is let go first (serve).
  if (p == nullptr && again == memory::in_strict_mode && !heap.is_at_limit(id, bytes)) {
    count_pass(why_passed(id, bytes, alignment), bytes);
  }
  return p;
}

constexpr size_t kMostSlabBytes = size_t{4} << 20;  // of a class of 1 MiB

// Our own limit, or the system refused. False: there is nothing to give back that would help.
bool make_room(size_t bytes) {
  const MemoryLimit& limit = heap.limit();
  const bool at_limit = limit.left() < std::max(bytes, kMostSlabBytes);
  if (at_limit && bytes > limit.hard()) return false;
  const bool waited = let_waiting_go(bytes);
  if (at_limit || memory::in_strict_mode) {
    heap.trim(cache_of_this_thread(), this_thread.release_cache);
    if (!memory::in_strict_mode) next_allocator().process().malloc_trim(0);
    return true;
  }
  if (bytes > heap.mapped_bytes()) return waited;
  heap.decommit(cache_of_this_thread());
  return true;
}

// Tries once more when memory is refused: by then our free memory no longer counts.
template <typename Attempt>
void* retry_if_refused(size_t bytes, const Attempt& attempt) {
  void* p = attempt(false);
  if (p == nullptr && !this_thread.forking && make_room(bytes)) {
    this_thread.sampled = false;  // a class may serve the second attempt
    p = attempt(true);
  }
  if (p == nullptr) errno = ENOMEM;
  return p;
}

// An object of a class, or else what next() gives. `zero`: see Heap. Functions come by reference: a
// copy of their words as pairs would have to wait for the stores of each (docs/decisions.md).
template <typename Next>
void* serve(size_t bytes, size_t alignment, const Next& next, bool* zero = nullptr) {
  return retry_if_refused(bytes, [&](bool again) {
    ClassId id = kNoClass;
    void* p = try_classes(bytes, alignment, again, id, zero);
    // At the limit the next allocator would serve the last objects dearly; in strict mode it might
    // end the thread, so first what waits is let go.
    const bool stays = memory::in_strict_mode && !again && bytes <= heap.most_block();
    return p != nullptr || stays || heap.is_at_limit(id, bytes) ? p : next();
  });
}

void* find_object(size_t bytes) {
  return serve(bytes, 1, [&] { return next_allocator().allocate(bytes); });
}

// At the end of every allocating function; `site` is where that function was called.
void* handed_out(Site site, void* p, size_t bytes, size_t alignment, bool is_zeroed = false) {
  if (is_observed()) [[unlikely]]
    tell_allocated(p, bytes, alignment, is_zeroed);
  return sampled(site, p, bytes);
}

// They put the caller's frame pointer where a stack is walked from (machine.h).
#define PUSHES_FRAME_POINTER gnu::noinline, gnu::optimize("no-omit-frame-pointer")

[[PUSHES_FRAME_POINTER]] void* allocate_long(size_t bytes) {
  Cache* const own = this_thread.cache;  // perhaps watched (ageing.h)
  if (own != nullptr && !is_observed()) {
    if (void* p = own->allocate_unlooked(heap.classes().find(bytes), heap.due())) return p;
  }
  return handed_out(this_site(), find_object(bytes), bytes, 0);
}

}  // namespace

[[gnu::hot]] void* allocate_slow(size_t bytes) {
  if (bytes <= ClassTable::kSmallLimit) [[likely]] {
    const ClassId id = heap.classes().small(bytes);
    if (void* p = this_thread.allocates_from->take_lean(id, heap.depot(), heap.due())) [[likely]]
      return p;
  } else if (void* p = this_thread.allocates_from->allocate(heap.classes().find(bytes))) {
    return p;  // malloc itself tries small sizes only
  }
  return allocate_long(bytes);
}

[[PUSHES_FRAME_POINTER]] void* allocate_zeroed_slow(size_t bytes) {
  bool zero = false;
  void* p = serve(
      bytes, 1,
      [=, &zero] {
        void* const zeroed = next_allocator().allocate_zeroed(bytes);
        zero = zeroed != nullptr;
        return zeroed;
      },
      &zero);
  if (p != nullptr && !zero) memset(p, 0, bytes);
  return handed_out(this_site(), p, bytes, 0, true);
}

[[PUSHES_FRAME_POINTER]] void* allocate_aligned(size_t alignment, size_t bytes) {
  // As malloc does: the rest costs three times as much.
  Cache& cache = *this_thread.allocates_from;
  if (void* p = cache.allocate(heap.classes().find_aligned(bytes, alignment))) return p;
  void* p = serve(bytes, alignment, [=] {
    return next_allocator().allocate_aligned(std::max(alignment, sizeof(void*)), bytes);
  });
  return handed_out(this_site(), p, bytes, alignment);
}

namespace {

// kNoClass: a block.
void take_back(void* p, ClassId id) {
  if (this_thread.forking) {
    *static_cast<void**>(p) = std::exchange(this_thread.set_aside, p);
    return;
  }
  Cache* const cache = cache_of_this_thread(true);
  Cache* const second = this_thread.release_cache;
  Cache* const own = second != nullptr ? second : cache;
  id != kNoClass ? heap.release(own, id, p) : heap.release_block(own, p);
  // Watching concerns allocations.
  if (second != nullptr && std::exchange(second->visits.watched, false))
    cache->visits.watched = true;
  publish(cache);
}

// May change errno. `site`: where the program frees it.
void release_told(void* p, Site site) {
  if (is_guarded(p)) [[unlikely]]
    return release_guarded(p, site);
  if (const ClassId id = heap.class_of(p); id != kNoClass) return take_back(p, id);
  if (heap.is_nobodys(p)) heap.refuse(p);
  Sample ended;
  if (sampling) [[unlikely]]
    profile_released(p, ended);
  heap.spans(p) ? take_back(p, kNoClass) : next_allocator().release(p);
}

[[PUSHES_FRAME_POINTER]] void release_long(void* p) {
  const KeepErrno keep;
  if (is_observed()) [[unlikely]]
    tell_released(p);
  release_told(p, this_site());
}

// Between allocation and release both addresses belong to the object.
[[PUSHES_FRAME_POINTER]] void* reallocate_into_pool(void* p, size_t old_bytes, size_t bytes) {
  const bool observed = is_observed();
  const size_t most = heap.classes().largest();
  void* const moved = observed
                          ? find_object(bytes)
                          : allocate_to_resize(old_bytes, bytes, most, allocate<allocate_slow>);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min(old_bytes, bytes));
  if (!observed) [[likely]]
    return release(p), moved;
  const KeepErrno keep;
  tell_resized(p, moved, bytes, false);
  sampled(this_site(), moved, bytes);
  release_told(p, this_site());
  return moved;
}

void* allocate_large(size_t bytes) {
  void* const p = this_thread.forking ? nullptr : allocate_pooled(kNoClass, bytes, nullptr);
  return p != nullptr ? p : next_allocator().allocate(bytes);
}

// What no class serves, before or after. A block that cannot grow where it lies goes to the next
// allocator beyond 4 MiB, or beyond 1 if it grows by less than a quarter: glibc moves a mapping
// without a copy.
void* resize(void* p, size_t bytes) {
  constexpr size_t kLarge = size_t{1} << 20;
  if (!heap.spans(p)) return next_allocator().reallocate(p, bytes);
  const size_t old_bytes = heap.block_bytes(p);
  const bool forking = this_thread.forking;
  if (forking ? bytes <= old_bytes : heap.resize_block(this_thread.cache, p, bytes)) return p;
  const bool creeps = bytes - old_bytes < old_bytes / 4;
  const bool leaves = bytes > std::max(old_bytes, creeps ? kLarge : 4 * kLarge);
  void* const moved = leaves ? next_allocator().allocate(bytes)
                             : allocate_to_resize(old_bytes, bytes, kLarge, allocate_large);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min(old_bytes, bytes));
  return take_back(p, kNoClass), moved;
}

void* resize_foreign(Site site, void* p, size_t old_bytes, size_t bytes, bool may_be_sample) {
  // Before the call: afterwards another thread may already have p.
  if (is_observed()) tell_released(p, true);
  void* const moved = retry_if_refused(bytes, [=](bool) { return resize(p, bytes); });
  if (may_be_sample && moved != nullptr) this_thread.sampled = sample_due(kNoClass, bytes);
  const bool refused = moved == nullptr;
  if (is_observed()) tell_resized(p, refused ? p : moved, refused ? old_bytes : bytes, true);
  return sampled(site, moved, bytes);
}

// Other libraries' fork handlers, which ran between ours, freed these.
void release_set_aside() {
  if (this_thread.forking) return;
  while (void* p = this_thread.set_aside) {
    // The hardened library's free memory is zero.
    this_thread.set_aside = std::exchange(*static_cast<void**>(p), nullptr);
    release_slow(p);
  }
}

}  // namespace

[[gnu::hot]] void release_slow(void* p) {
  if (this_thread.releases_to->give_lean(heap.class_of(p), p, heap.depot(), heap.due())) [[likely]]
    return;
  return release_long(p);
}

static size_t foreign_size(void* p) {
  return heap.spans(p) ? heap.block_bytes(p) : next_allocator().usable_size(p);
}

size_t usable_size(void* p) {
  if (p == nullptr) return 0;
  if (is_guarded(p)) [[unlikely]] {
    const size_t bytes = guarded_size(p, this_site());
    return bytes == kNotLive ? 0 : bytes;
  }
  if (const ClassId id = heap.class_of(p); id != kNoClass) return heap.classes()[id].object_bytes;
  if (heap.is_nobodys(p)) heap.refuse(p);
  return foreign_size(p);
}

void* move_or_stay(void* p, size_t old_bytes, size_t bytes) {
  void* const moved = reallocate_into_pool(p, old_bytes, bytes);
  return moved == nullptr && bytes <= old_bytes ? p : moved;
}

[[PUSHES_FRAME_POINTER]] void* reallocate_foreign(void* p, size_t bytes) {
  if (is_guarded(p)) [[unlikely]] {
    const size_t old_bytes = guarded_size(p, this_site());
    return old_bytes == kNotLive ? nullptr : move_or_stay(p, old_bytes, bytes);
  }
  if (heap.is_nobodys(p)) heap.refuse(p);
  const bool draws = sampling && !this_thread.forking;
  Sample sample{};
  const bool was_sample = draws && profile_released(p, sample);
  // A sample stays one where the pool would have resized the object in place: drawn again, it would
  // count less than the objects it stands for. In all other cases object and sample are new.
  const bool stays = was_sample && sample.id != kNoClass && resizes_in_place(sample.id, bytes);
  const size_t old_bytes = foreign_size(p);
  // As in the pool, a block stays that is filled by half: else one that goes to and fro at the
  // largest class would be copied each time.
  const bool fills = !was_sample && bytes <= old_bytes && bytes >= old_bytes / 2;
  const bool pools = !stays && !fills && old_bytes != 0 && heap.classes().find(bytes) != kNoClass;
  void* moved = pools ? reallocate_into_pool(p, old_bytes, bytes) : nullptr;
  // One that shrinks stays where it is if a class has no memory for it.
  if (moved == nullptr && (!pools || bytes <= old_bytes)) {
    moved = resize_foreign(this_site(), p, old_bytes, bytes, draws && !stays);
  }
  if (was_sample && (stays || moved == nullptr)) {
    profile_kept(moved != nullptr ? moved : p, sample, moved != nullptr ? bytes : sample.bytes);
  }
  return moved;
}

constinit const Part slow_path_part{.unlock = release_set_aside};

}  // namespace pktmalloc

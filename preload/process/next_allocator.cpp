// SPDX-License-Identifier: MIT
#include "preload/process/next_allocator.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "preload/base/library_function.h"
#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/base/own_thread.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/low_water.h"

namespace pktmalloc {
namespace {

constinit Mutex mutex{part_rank(PartId::next_allocator)};
constinit NextAllocator next;
constinit std::atomic<bool> found = false;
constinit thread_local bool finding = false;  // this thread is inside dlsym or dlopen for us

// Ticks until an interval has passed without a call, and the heap is trimmed; 0: was trimmed since.
constexpr unsigned kBusy = LowWater::kTicks + 1;
constinit std::atomic<unsigned> ticks_left = 0;

// While there is a limit, what the next allocator holds is counted against it, in usable bytes of
// objects. What the program has freed stays there until a trim, so it stays counted until then;
// later requests are taken to reuse it.
constinit std::atomic<uint64_t> free_bytes = 0;

// A trim walks over all free blocks: at most one for each 64th of what is in use.
constexpr uint64_t kTrimLeast = uint64_t{1} << 20;
constexpr uint64_t kTrimPart = 64;

// The largest that glibc would choose by itself on a 64-bit machine.
constexpr int kMmapThreshold = 32 << 20;
constexpr size_t kPage = 4096, kHead = sizeof(size_t);
constexpr size_t kLeastBytes = 16;  // some allocators align what is smaller only to its size

// The free end of an arena goes back at a free if it is larger than eight times the largest request
// (glibc's own rule: twice), but not under 16 MiB, and always above 64 MiB. SIZE_MAX: as below.
constexpr size_t kEnd = 8, kLeastLarge = 2 << 20, kMostLarge = 8 << 20;
constinit std::atomic<size_t> largest = SIZE_MAX;

constexpr int kLeastArenas = 4;  // for threads that leave the processors that the process began on

// A block that grows beyond all mappings freed yet moves to one, which grows without copies, as by
// glibc's own rule. SIZE_MAX: its thresholds are the user's.
constexpr int kLeastGrowth = 1 << 20;
constinit std::atomic<size_t> most_freed = SIZE_MAX;

// A large block that is resized fills whole pages of glibc's heap. Else the small pieces that are
// cut off lie in its caches, which nobody asks, and keep their neighbours apart. Not one that is
// new: glibc would see less of what is written beyond it.
size_t whole_pages(size_t bytes) {
  constexpr size_t kLeast = 64 << 10;
  const bool is_large = bytes > kLeast && bytes <= PTRDIFF_MAX / 2;
  return is_large ? round_up(bytes + kHead, kPage) - kHead : bytes;
}

bool user_tuned_glibc() {
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_",
                           "MALLOC_MMAP_MAX_"}) {
    if (getenv(name) != nullptr) return true;
  }
  const char* tunables = getenv("GLIBC_TUNABLES");
  return tunables != nullptr && strstr(tunables, "glibc.malloc.") != nullptr;
}

// Before a release. glibc's mappings begin a page, with a head whose lowest bits are 2; above them
// lies the size.
void note_freed(const void* p) {
  if (reinterpret_cast<uintptr_t>(p) % kPage != 2 * kHead) return;
  const size_t head = static_cast<const size_t*>(p)[-1];
  if (head % 8 == 2 && head < kMmapThreshold && head > most_freed) most_freed = head;
}

// Before each call but one for a size. A thread that only comes here ages the pool with each new
// block. Usually the call is already noted: threads that come by all the time share the cache line
// and do not fight for it. The first one wakes who calls tick().
void note_call(bool ages) {
  if (ages && this_thread.cache != nullptr && !this_thread.forking) heap.visit(*this_thread.cache);
  if (ticks_left.load(std::memory_order_relaxed) == kBusy) return;
  if (ticks_left.exchange(kBusy, std::memory_order_relaxed) == 0) heap.ageing().notice();
}

// Before a request.
void note_size(size_t bytes) {
  size_t seen = largest.load(std::memory_order_relaxed), most = seen;
  if (bytes <= seen || seen == kMostLarge) return;
  while (most < bytes && most < kMostLarge) most *= 2;
  if (!largest.compare_exchange_strong(seen, most, std::memory_order_relaxed)) return;
  next.process().mallopt(M_TRIM_THRESHOLD, static_cast<int>(kEnd * most));
}

void count_free(uint64_t bytes) { free_bytes.fetch_add(bytes, std::memory_order_relaxed); }

// Before a request, of which so many bytes are counted already. False: the limit would be exceeded.
bool take(size_t bytes, uint64_t& reused) {
  reused = subtract_at_most(free_bytes, bytes);
  if (heap.limit().take(bytes - reused)) return true;
  count_free(reused);
  return false;
}

// After it: of `taken` bytes, which are counted, the object has `got`, perhaps more.
void settle(size_t taken, size_t got) {
  if (got <= taken) return count_free(taken - got);
  const size_t more = got - taken;
  heap.limit().add(more - subtract_at_most(free_bytes, more));
}

// Is the soft limit exceeded, and so much free that trimming pays?
bool should_trim() {
  const MemoryLimit& limit = heap.limit();
  return limit.is_tight() && free_bytes.load(std::memory_order_relaxed) >
                                 std::max(kTrimLeast, limit.used() / kTrimPart);
}

// Ends a tick of ageing: trims if something was released and an interval has passed without a call.
void tick() {
  unsigned left = ticks_left.load(std::memory_order_relaxed);
  if (left == 0 || !found.load(std::memory_order_acquire)) return;
  if (!ticks_left.compare_exchange_strong(left, left - 1, std::memory_order_relaxed)) return;
  const KeepErrno keep_errno;
  if (left == 1) next.trim(0);
}

EVERY_PROCESS void start() { heap.ageing().on_tick(tick); }

void load() {
  next_allocator();  // finds the functions
  if (!heap.started()) return;
  // No trim gives back the free end of an arena, but that of the first one.
  const bool is_tuned = user_tuned_glibc();
  if (heap.limit().hard() != MemoryLimit::kNone) {
    next.process().mallopt(M_ARENA_MAX, 1);
  } else if (!is_tuned && getenv("MALLOC_ARENA_MAX") == nullptr) {
    next.process().mallopt(M_ARENA_MAX, std::max(processor_count(), kLeastArenas));
  }
  if (is_tuned) return;
  next.process().mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  next.process().mallopt(M_TRIM_THRESHOLD, kEnd * kLeastLarge);
  most_freed = kLeastGrowth;
  largest = kLeastLarge;
}

}  // namespace

const NextAllocator& next_allocator() {
  if (found.load(std::memory_order_acquire) || finding) return next;
  const Lock lock(mutex);
  if (!found.load(std::memory_order_relaxed)) {
    finding = true;
    next.find();
    finding = false;
    found.store(true, std::memory_order_release);
  }
  return next;
}

bool NextAllocator::Functions::look_up(void* library, const char* prefix) {
  const auto find = [&](auto& function, const char* name) {
    char symbol[40];
    return find_function(function, library, strcat(strcpy(symbol, prefix), name));
  };
  find(malloc_trim, "malloc_trim");
  find(mallopt, "mallopt");
  find(mallinfo2, "mallinfo2");
  return find(malloc, "malloc") && find(calloc, "calloc") &&
         find(posix_memalign, "posix_memalign") && find(realloc, "realloc") && find(free, "free") &&
         find(malloc_usable_size, "malloc_usable_size");
}

void NextAllocator::find() {
  if (!process_.look_up(RTLD_NEXT, "")) process_ = mapped_blocks();
  chosen_ = process_;
  const char* path = options().next_path;
  if (path != nullptr && !load_mimalloc(path)) {
    const char* why = dlerror();
    message(
        "PKTMALLOC_NEXT=%s: not a usable mimalloc library (%s); using the next allocator in the "
        "process",
        path, why != nullptr ? why : "it lacks mi_ functions");
  }
}

// Private: the program does not see its malloc, and only we use its mi_ functions. Pointers from
// the process's allocator, handed out before or behind our back, still go there.
bool NextAllocator::load_mimalloc(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  Functions mi;
  if (library == nullptr || !mi.look_up(library, "mi_") ||
      !find_function(in_chosen_, library, "mi_is_in_heap_region")) {
    return false;
  }
  chosen_ = mi;
  return true;
}

const NextAllocator::Functions& NextAllocator::owner_of(void* p) const {
  return in_chosen_ == nullptr || in_chosen_(p) ? chosen_ : process_;
}

// mimalloc 2 does not know its own blocks of a GiB, or aligned to 64 MiB.
const NextAllocator::Functions& NextAllocator::server(size_t bytes, size_t alignment) const {
  constexpr size_t kMost = size_t{512} << 20;
  return in_chosen_ == nullptr || std::max(bytes, 32 * alignment) <= kMost ? chosen_ : process_;
}

// What `call` gets for a request of so many bytes, if the limit allows them. `old`: the object
// whose place it takes, or nullptr.
template <typename Call>
void* NextAllocator::within_limit(size_t bytes, void* old, const Call& call) const {
  note_call(old == nullptr);
  note_size(bytes);
  if (!heap.limit().is_limited()) [[likely]]
    return call();
  const size_t old_bytes = old != nullptr ? usable_size(old) : 0;
  const size_t most = std::max(bytes, old_bytes);
  uint64_t reused;
  if (!take(most - old_bytes, reused)) return no_memory();
  void* const p = call();
  if (p == nullptr) heap.limit().give(most - old_bytes - reused);
  p != nullptr ? settle(most, usable_size(p)) : count_free(reused);
  return p;
}

void* NextAllocator::allocate(size_t bytes) const {
  bytes = std::max(bytes, kLeastBytes);
  return within_limit(bytes, nullptr, [&] { return server(bytes).malloc(bytes); });
}

void* NextAllocator::allocate_zeroed(size_t bytes) const {
  bytes = std::max(bytes, kLeastBytes);
  return within_limit(bytes, nullptr, [&] { return server(bytes).calloc(1, bytes); });
}

void* NextAllocator::allocate_aligned(size_t alignment, size_t bytes) const {
  // Some versions of glibc let their sum wrap (CVE-2026-0861).
  if (alignment > PTRDIFF_MAX || bytes > PTRDIFF_MAX - alignment) return no_memory();
  return within_limit(bytes, nullptr, [&] {
    void* p = nullptr;
    // mimalloc 2.0 misplaces what is a multiple of its alignment.
    const size_t asked = in_chosen_ != nullptr ? bytes | 1 : bytes;
    return server(bytes, alignment).posix_memalign(&p, alignment, asked) == 0 ? p : no_memory();
  });
}

void* NextAllocator::reallocate(void* p, size_t bytes) const {
  bytes = std::max(whole_pages(bytes), kLeastBytes);
  return within_limit(bytes, p, [&] {
    const Functions& owner = owner_of(p);
    if (&owner == &process_ || &server(bytes) == &chosen_) {
      const bool maps = bytes < kMmapThreshold && bytes > most_freed;
      if (maps) process_.mallopt(M_MMAP_THRESHOLD, kLeastGrowth);
      void* const grown = owner.realloc(p, bytes);
      if (maps) process_.mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
      return grown;
    }
    void* const moved = process_.malloc(bytes);
    if (moved == nullptr) return moved;
    memcpy(moved, p, std::min(bytes, owner.malloc_usable_size(p)));
    return owner.free(p), moved;
  });
}

int NextAllocator::mallopt(int option, int value) const {
  largest = most_freed = SIZE_MAX;
  return process_.mallopt(option, value);
}

void NextAllocator::release(void* p) const {
  note_call(false);
  note_freed(p);
  const Functions& owner = owner_of(p);
  if (!heap.limit().is_limited()) [[likely]]
    return owner.free(p);
  const size_t bytes = usable_size(p);
  owner.free(p);
  count_free(bytes);
  if (should_trim()) trim(0);
}

size_t NextAllocator::usable_size(void* p) const { return owner_of(p).malloc_usable_size(p); }

bool NextAllocator::waits() const { return ticks_left.load(std::memory_order_relaxed) != 0; }

bool NextAllocator::trim(size_t pad) const {
  heap.limit().give(free_bytes.exchange(0, std::memory_order_relaxed));
  return process_.malloc_trim(pad) != 0;
}

constinit const Part next_allocator_part{
    .start = start,
    .load = load,
    .mutexes = {&mutex},
};

}  // namespace pktmalloc

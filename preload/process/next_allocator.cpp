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
#include "preload/process/process.h"
#include "preload/process/thread.h"

namespace pktmalloc {
namespace {

constinit Mutex mutex{part_rank(PartId::next_allocator)};
constinit NextAllocator next;
constinit std::atomic<bool> found = false;
constinit thread_local bool finding = false;  // this thread is inside dlsym or dlopen for us

constexpr size_t kLeastBytes = 16;  // some allocators align what is smaller only to its size

void load() {
  next_allocator();  // finds the functions
  // At its first call, whatever it is, glibc's malloc starts, without a lock: later two threads
  // might come at once. To set anything would end how it adapts its threshold for mappings.
  next.process().mallopt(0, 0);
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

// What `call` gets for a request of so many bytes, if the limit allows them; objects count by their
// usable bytes. `old`: the object whose place it takes, or nullptr.
template <typename Call>
void* NextAllocator::within_limit(size_t bytes, void* old, const Call& call) const {
  MemoryLimit& limit = heap.limit();
  if (!limit.is_limited()) [[likely]]
    return call();
  const size_t old_bytes = old != nullptr ? usable_size(old) : 0;
  const size_t more = bytes - std::min(bytes, old_bytes);
  if (!limit.take(more)) return no_memory();
  void* const p = call();
  if (p != nullptr) limit.add(usable_size(p));
  limit.give(p != nullptr ? old_bytes + more : more);
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
  bytes = std::max(bytes, kLeastBytes);
  return within_limit(bytes, p, [&] {
    const Functions& owner = owner_of(p);
    if (&owner == &process_ || &server(bytes) == &chosen_) {
      return owner.realloc(p, bytes);
    }
    void* const moved = process_.malloc(bytes);
    if (moved == nullptr) return moved;
    memcpy(moved, p, std::min(bytes, owner.malloc_usable_size(p)));
    return owner.free(p), moved;
  });
}

// Under a limit the allocator keeps an eighth of it at most, for that counts nothing.
void NextAllocator::release(void* p) const {
  MemoryLimit& limit = heap.limit();
  const size_t bytes = limit.is_limited() ? usable_size(p) : 0;
  owner_of(p).free(p);
  if (bytes == 0) return;
  limit.give(bytes);
  static constinit std::atomic<uint64_t> kept = 0;
  if (kept.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit.counts().soft / 8) return;
  kept.store(0, std::memory_order_relaxed);
  process_.malloc_trim(0);
}

size_t NextAllocator::usable_size(void* p) const { return owner_of(p).malloc_usable_size(p); }

constinit const Part next_allocator_part{
    .load = load,
    .mutexes = {&mutex},
};

}  // namespace pktmalloc

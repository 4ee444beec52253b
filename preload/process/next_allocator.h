// SPDX-License-Identifier: MIT
// NextAllocator: the allocator that would serve malloc without us: glibc, another one preloaded
// after us, a privately loaded mimalloc, or mapped blocks where there is none. It gets every
// request that neither a class nor a block serves and every pointer that is not ours.
//
// dlsym(RTLD_NEXT) finds it at load time, or earlier if a request needs it. Our slabs serve what
// dlsym itself allocates.
#pragma once

#include <malloc.h>

#include <cerrno>
#include <cstddef>

namespace pktmalloc {

// What a refused request returns.
inline void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

class NextAllocator {
 public:
  // Each like the C function of that name; allocate_aligned: a power of two and a multiple of the
  // pointer size. ENOMEM while the functions are still unknown.
  void* allocate(size_t bytes) const;
  void* allocate_zeroed(size_t bytes) const;
  void* allocate_aligned(size_t alignment, size_t bytes) const;
  void* reallocate(void* p, size_t bytes) const;
  void release(void* p) const;
  size_t usable_size(void* p) const;

  // Until they are found, and for those that are missing: as if there were no memory, nothing to
  // trim, and nothing to set.
  struct Functions {
    void* (*malloc)(size_t) = [](size_t) { return no_memory(); };
    void* (*calloc)(size_t, size_t) = [](size_t, size_t) { return no_memory(); };
    int (*posix_memalign)(void**, size_t, size_t) = [](void**, size_t, size_t) { return ENOMEM; };
    void* (*realloc)(void*, size_t) = [](void*, size_t) { return no_memory(); };
    void (*free)(void*) = [](void*) {};
    size_t (*malloc_usable_size)(void*) = [](void*) { return size_t{0}; };
    int (*malloc_trim)(size_t) = [](size_t) { return 0; };
    int (*mallopt)(int, int) = [](int, int) { return 1; };
    struct mallinfo2 (*mallinfo2)() = [] { return (struct mallinfo2){}; };

    // By their names behind the prefix. False: some that every allocator has are missing.
    bool look_up(void* library, const char* prefix);
  };
  // Of the one that is next in the process.
  const Functions& process() const { return process_; }

 private:
  friend const NextAllocator& next_allocator();

  void find();
  template <typename Call>
  void* within_limit(size_t bytes, void* old, const Call& call) const;
  bool load_mimalloc(const char* path);
  const Functions& owner_of(void* p) const;
  const Functions& server(size_t bytes, size_t alignment = 1) const;

  Functions process_{};
  Functions chosen_{};  // serves requests; = process_ unless mimalloc was chosen
  bool (*in_chosen_)(const void*) = nullptr;  // does the pointer belong to chosen_; null: yes
};

// A mapping for each block (mapped_blocks.cpp).
NextAllocator::Functions mapped_blocks();

// Any thread. Looks the functions up at the first call.
const NextAllocator& next_allocator();

}  // namespace pktmalloc

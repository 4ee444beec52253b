// SPDX-License-Identifier: MIT
// pktmalloc for C++ programs that may know it: objects of constant sizes without a call.
//
// Where the library serves malloc, what this header gives is taken from and returned to the
// thread's own lists by code inlined into the program. Everywhere else (without the library, with
// another allocator, with the checked or hardened library, with a library of another schema, while
// calls are recorded) the same functions call malloc and free. Either way all objects but those of
// resource() are malloc's: free, realloc and malloc_usable_size take them, and release takes what
// malloc gave.
//
// C++17 and later, g++ or clang++, with or without exceptions. Any thread may call anything, and
// release what another allocated. docs/api.md has the costs.
#ifndef PKTMALLOC_HPP
#define PKTMALLOC_HPP

#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "pktmalloc.h"
#include "pktmalloc_path.hpp"

#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__) && defined(__linux__)
#define PKTMALLOC_INLINES 1
#else
#define PKTMALLOC_INLINES 0
#endif
#define PKTMALLOC_HIDDEN [[gnu::visibility("hidden")]]
#define PKTMALLOC_INLINE [[gnu::always_inline]] inline

namespace pktmalloc {
inline namespace schema_3 {
namespace detail {

inline void* plain(std::size_t bytes, std::size_t alignment) noexcept {
  // Some allocators align what is smaller only to its size.
  if (alignment <= alignof(std::max_align_t))
    return std::malloc(bytes < alignment ? alignment : bytes);
  void* p = nullptr;
  return ::posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

inline std::size_t allocate_singly(std::size_t bytes, std::size_t count, void** objects) {
  for (std::size_t n = 0; n < count; ++n) {
    objects[n] = std::malloc(bytes);
    if (objects[n] == nullptr) return n;
  }
  return count;
}

inline void release_singly(void* const* objects, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) std::free(objects[n]);
}

inline contract::Place nowhere(std::size_t, std::size_t) { return {contract::kNoTop, 0}; }

PKTMALLOC_HIDDEN inline const std::uintptr_t no_bytes = 0;
PKTMALLOC_HIDDEN inline const contract::Path no_path{
    0, 0, &no_bytes, 0, nowhere, nullptr, allocate_singly, release_singly};

// Of this program or shared library, which is why they are hidden; set once, while it is loaded.
PKTMALLOC_HIDDEN inline std::atomic<const contract::Path*> path{&no_path};
PKTMALLOC_HIDDEN inline std::atomic<std::uint64_t> thread{0};  // the path's

// Only where malloc, as this program or library calls it, is that of the library that offers the
// path. One object does not tell, as the library may have others serve a sample.
inline bool find_path() noexcept {
#if PKTMALLOC_INLINES
  auto* offer = &pktmalloc_inline_path;
  if (offer == nullptr) {
    offer = reinterpret_cast<decltype(offer)>(::dlsym(RTLD_DEFAULT, "pktmalloc_inline_path"));
  }
  const contract::Path* const found = offer != nullptr ? offer(contract::kSchema) : nullptr;
  bool serves = false;
  for (int tries = 0; found != nullptr && !serves && tries < 64; ++tries) {
    void* const p = std::malloc(found->pooled_bytes);
    serves = p != nullptr && found->owns(p);
    std::free(p);
  }
  if (!serves) return false;
  path.store(found, std::memory_order_release);
  thread.store(found->thread, std::memory_order_release);
#endif
  return true;
}

PKTMALLOC_HIDDEN inline const bool path_was_sought = find_path();

// What the library says of a size, asked when it is first used: PKTMALLOC_CLASSES may have changed
// its classes.
template <std::size_t kBytes, std::size_t kAlignment>
struct Known {
  PKTMALLOC_HIDDEN static inline std::atomic<std::uint64_t> top{contract::kNoTop};
  PKTMALLOC_HIDDEN static inline std::atomic<std::uint64_t> number{0};
};

template <std::size_t kBytes, std::size_t kAlignment>
[[gnu::noinline]] void* allocate_slow() noexcept {
  using Size = Known<kBytes, kAlignment>;
  if (Size::top.load(std::memory_order_relaxed) == contract::kNoTop) {
    const contract::Place place =
        path.load(std::memory_order_acquire)->place_of(kBytes, kAlignment);
    Size::number.store(place.number, std::memory_order_relaxed);
    Size::top.store(place.top, std::memory_order_relaxed);
  }
  return plain(kBytes, kAlignment);
}

// The cache that the thread allocates from, or releases into. In assembly for the thread's word.
// Volatile: each call of the library may change it.
template <int kFrom>
PKTMALLOC_INLINE char* cache([[maybe_unused]] std::uint64_t offset) noexcept {
  char* found;
#if !PKTMALLOC_INLINES
  found = nullptr;
#elif defined __x86_64__
  asm volatile("movq %%fs:%c2(%1), %0" : "=r"(found) : "r"(offset), "i"(kFrom));
#else
  asm volatile("mrs %0, tpidr_el0\n\tadd %0, %0, %1\n\tldr %0, [%0, %2]"
               : "=&r"(found)
               : "r"(offset), "i"(kFrom));
#endif
  return found;
}

// Where it has the top of this size. In assembly because a compiler would load the atomic into a
// register of its own.
template <typename Size>
PKTMALLOC_INLINE std::uintptr_t** find_top(char* cache) noexcept {
#if PKTMALLOC_INLINES && defined __x86_64__
  asm("addq %1, %0" : "+r"(cache) : "m"(Size::top));
#else
  cache += Size::top.load(std::memory_order_relaxed);
#endif
  return reinterpret_cast<std::uintptr_t**>(cache);
}

// Only its thread writes the word; others may read it at any time.
PKTMALLOC_INLINE void increment(std::uint64_t* word) noexcept {
#ifdef __x86_64__
  asm("addq $1, %0" : "+m"(*word));
#else
  __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
#endif
}

// Does the address lie in a unit of the size's class?
template <typename Size>
PKTMALLOC_INLINE bool holds(std::uintptr_t address) noexcept {
  const contract::Path& found = *path.load(std::memory_order_relaxed);
  const std::uintptr_t distance = address - found.base;
  if (distance >= __atomic_load_n(found.bytes, __ATOMIC_RELAXED)) return false;
  const auto* const map = reinterpret_cast<const unsigned char*>(found.base);
  const auto* const owner = map + (distance >> contract::kUnitShift) * 2;
  return __atomic_load_n(owner, __ATOMIC_RELAXED) == Size::number.load(std::memory_order_relaxed);
}

// The counterpart of Cache::allocate().
template <std::size_t kBytes, std::size_t kAlignment>
PKTMALLOC_INLINE void* take() noexcept {
  const std::uint64_t offset = thread.load(std::memory_order_relaxed);
  if (__builtin_expect(offset == 0, 0)) return nullptr;
  std::uintptr_t** const at = find_top<Known<kBytes, kAlignment>>(cache<0>(offset));
  std::uintptr_t* const top = *at;
  const std::uintptr_t object = *top;
  if (__builtin_expect(object == contract::kEmpty, 0)) return nullptr;
  __atomic_store_n(at, top - 1, __ATOMIC_RELAXED);
  increment(reinterpret_cast<std::uint64_t*>(at + contract::kClasses));
  return reinterpret_cast<void*>(object);
}

// The counterpart of Cache::release(). False also for an object that lies elsewhere than those of
// this size.
template <std::size_t kBytes, std::size_t kAlignment>
PKTMALLOC_INLINE bool give(void* p) noexcept {
  using Size = Known<kBytes, kAlignment>;
  const auto object = reinterpret_cast<std::uintptr_t>(p);
  const std::uint64_t offset = thread.load(std::memory_order_relaxed);
  if (__builtin_expect(offset == 0, 0)) return false;
  char* const lists = cache<contract::kReleases>(offset);
  std::uintptr_t** const at = find_top<Size>(lists);
  std::uintptr_t* const top = *at;
  if (__builtin_expect(top[1] == contract::kFull, 0)) return false;
  // What lies in the same unit as the object on top is of its class. One comparison finds that out,
  // and that the object does not lie there already. But to the mark of an empty list low addresses
  // are near.
  constexpr std::uintptr_t near = contract::kUnitBytes - 1;
  if (__builtin_expect((top[0] ^ object) - 1 >= near || object <= near, 0) &&
      (top[0] == object || !holds<Size>(object))) {
    return false;
  }
  top[1] = object;
  __atomic_store_n(at, top + 1, __ATOMIC_RELAXED);
  return true;
}

// As operator new: asks the new-handler until there is memory, or throws.
[[gnu::noinline, gnu::cold]] inline void* obtain_slow(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) {
#ifdef __cpp_exceptions
      throw std::bad_alloc();
#else
      std::abort();
#endif
    }
    handler();
    if (void* const p = plain(bytes, alignment)) return p;
  }
}

inline void* obtain(std::size_t bytes, std::size_t alignment) {
  void* const p = plain(bytes, alignment);
  return __builtin_expect(p != nullptr, 1) ? p : obtain_slow(bytes, alignment);
}

}  // namespace detail

// Memory of a constant size. Null if there is none.
template <std::size_t kBytes, std::size_t kAlignment = alignof(std::max_align_t)>
[[nodiscard]] PKTMALLOC_INLINE void* allocate_nothrow() noexcept {
  static_assert(kBytes > 0);
  void* const p = detail::take<kBytes, kAlignment>();
  return __builtin_expect(p != nullptr, 1) ? p : detail::allocate_slow<kBytes, kAlignment>();
}

// The same; if there is none, the new-handler is called, or std::bad_alloc thrown.
template <std::size_t kBytes, std::size_t kAlignment = alignof(std::max_align_t)>
[[nodiscard]] PKTMALLOC_INLINE void* allocate() {
  void* const p = allocate_nothrow<kBytes, kAlignment>();
  return __builtin_expect(p != nullptr, 1) ? p : detail::obtain_slow(kBytes, kAlignment);
}

// As free(p), fastest with the size and alignment that p was allocated with.
template <std::size_t kBytes, std::size_t kAlignment = alignof(std::max_align_t)>
PKTMALLOC_INLINE void release(void* p) noexcept {
  if (__builtin_expect(!detail::give<kBytes, kAlignment>(p), 0)) std::free(p);
}

// As pktmalloc_allocate_batch and pktmalloc_release_batch, and also without the library.
inline std::size_t allocate_batch(std::size_t bytes, std::size_t count, void** objects) {
  return detail::path.load(std::memory_order_acquire)->allocate_batch(bytes, count, objects);
}
inline void release_batch(void* const* objects, std::size_t count) {
  detail::path.load(std::memory_order_acquire)->release_batch(objects, count);
}

#ifdef __cpp_lib_allocate_at_least
template <typename Pointer>
using allocation_result = std::allocation_result<Pointer, std::size_t>;
#else
template <typename Pointer>
struct allocation_result {
  Pointer ptr;
  std::size_t count;
};
#endif

// For containers and allocate_shared. Stateless: all are equal. One object at a time is inlined,
// arrays are malloc's.
template <typename T>
class allocator {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  template <typename U>
  constexpr allocator(const allocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count == 1) return static_cast<T*>(pktmalloc::allocate<sizeof(T), alignof(T)>());
    return static_cast<T*>(detail::obtain(bytes_of(count), alignof(T)));
  }

  // As many more as there is room for; deallocate takes either count.
  [[nodiscard]] allocation_result<T*> allocate_at_least(std::size_t count) {
    T* const p = allocate(count);
    return {p, ::malloc_usable_size(p) / sizeof(T)};
  }

  void deallocate(T* p, std::size_t count) noexcept {
    if (count == 1) return pktmalloc::release<sizeof(T), alignof(T)>(p);
    std::free(p);
  }

 private:
  static std::size_t bytes_of(std::size_t count) {
    constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T);
    if (count > kMost) {
#ifdef __cpp_exceptions
      throw std::bad_array_new_length();
#else
      std::abort();
#endif
    }
    return count * sizeof(T);
  }
};

template <typename T, typename U>
constexpr bool operator==(const allocator<T>&, const allocator<U>&) noexcept {
  return true;
}
template <typename T, typename U>
constexpr bool operator!=(const allocator<T>&, const allocator<U>&) noexcept {
  return false;
}

// Deletes what make_unique made.
template <typename T>
struct deleter {
  static_assert(!std::is_array_v<T>, "a single object; for arrays use a vector");
  void operator()(T* p) const noexcept {
    p->~T();
    release<sizeof(T), alignof(T)>(const_cast<std::remove_cv_t<T>*>(p));
  }
};

// As std::unique_ptr, and as small; for classes that cannot have operators of their own.
template <typename T>
using unique_ptr = std::unique_ptr<T, deleter<T>>;

template <typename T, typename... Values>
[[nodiscard]] unique_ptr<T> make_unique(Values&&... values) {
  struct Memory {
    void* p;
    ~Memory() {
      if (p != nullptr) release<sizeof(T), alignof(T)>(p);
    }
  } memory{allocate<sizeof(T), alignof(T)>()};
  T* const object = ::new (memory.p) T(std::forward<Values>(values)...);
  memory.p = nullptr;
  return unique_ptr<T>(object);
}

// A std::shared_ptr whose one block, of object and counters, is inlined.
template <typename T, typename... Values>
[[nodiscard]] std::shared_ptr<T> make_shared(Values&&... values) {
  return std::allocate_shared<T>(allocator<std::remove_cv_t<T>>(), std::forward<Values>(values)...);
}

// Base of a class that gets operators new and delete of its own: struct Packet :
// pktmalloc::pooled<Packet>. A derived class of another size has malloc and free.
template <typename T>
struct pooled {
  static void* operator new(std::size_t bytes) {
    if (bytes == sizeof(T)) return pktmalloc::allocate<sizeof(T), alignof(T)>();
    return detail::obtain(bytes, alignof(T));
  }
  static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    if (bytes == sizeof(T) && alignment == std::align_val_t{alignof(T)})
      return pktmalloc::allocate<sizeof(T), alignof(T)>();
    return detail::obtain(bytes, static_cast<std::size_t>(alignment));
  }
  static void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    if (bytes == sizeof(T)) return pktmalloc::allocate_nothrow<sizeof(T), alignof(T)>();
    return detail::plain(bytes, alignof(T));
  }
  static void* operator new(std::size_t bytes, std::align_val_t alignment,
                            const std::nothrow_t&) noexcept {
    return detail::plain(bytes, static_cast<std::size_t>(alignment));
  }
  static void* operator new(std::size_t, void* place) noexcept { return place; }

  static void operator delete(void* p, std::size_t bytes) noexcept {
    if (bytes == sizeof(T)) return release<sizeof(T), alignof(T)>(p);
    std::free(p);
  }
  static void operator delete(void* p, std::size_t bytes, std::align_val_t) noexcept {
    operator delete(p, bytes);
  }
  // For constructors that throw.
  static void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
  static void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
    std::free(p);
  }
  static void operator delete(void*, void*) noexcept {}
};

#ifdef __cpp_lib_memory_resource

// For std::pmr containers. Its sizes are no constants: a call of operator new and delete each.
inline std::pmr::memory_resource* resource() noexcept { return std::pmr::new_delete_resource(); }

#endif

}  // namespace schema_3
}  // namespace pktmalloc

#undef PKTMALLOC_INLINES
#undef PKTMALLOC_HIDDEN
#undef PKTMALLOC_INLINE

#endif

// SPDX-License-Identifier: MIT
// What the code that pktmalloc.hpp inlines into programs knows of the library: the contract between
// the two. A program includes pktmalloc.hpp.
//
//     allocate: thread's word -> cache -> top of the size's list -> object
//     release:  thread's word -> cache -> top of the size's list -> is the address of its class?
//
// The marks at both ends of a list, and a class whose list always is empty and full, send to malloc
// and free whatever the lists cannot serve (docs/design.md, Free lists are arrays).
#ifndef PKTMALLOC_PATH_HPP
#define PKTMALLOC_PATH_HPP

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

// The schema's number is part of all names: two libraries of one process may have been compiled
// with different headers.
inline namespace schema_3 {

// The contract with the library: what the inlined code knows of it. Whatever of this changes, or
// how the two use it, needs a new schema.
namespace contract {

inline constexpr std::uint32_t kSchema = 3;

// A thread's cache: for each of 64 classes the address of the top of a list, then as many counters.
// The word at a top is an object, or kEmpty; the word above it has room for one, or is kFull. Class
// 0 is none: its list stays as it is.
inline constexpr std::uint64_t kClasses = 64;
inline constexpr std::uintptr_t kEmpty = 0;
inline constexpr std::uintptr_t kFull = ~std::uintptr_t{0};
inline constexpr std::uint64_t kNoTop = 0;
// Addresses from the path's base on are divided into units of 1 << kUnitShift bytes; two bytes for
// each lie at the base, of which the first is the class of the objects there.
inline constexpr unsigned kUnitShift = 16;
inline constexpr std::uintptr_t kUnitBytes = std::uintptr_t{1} << kUnitShift;
// From the thread's word for the cache it allocates from to that for the one it releases into.
inline constexpr int kReleases = sizeof(void*);

// A class: where a cache has its top, and its number.
struct Place {
  std::uint64_t top, number;
};

struct Path {
  std::uint64_t thread;  // from the thread pointer to the thread's words; 0: no path
  std::uintptr_t base;
  const std::uintptr_t* bytes;  // so many from the base on belong to units; they may change
  std::size_t pooled_bytes;     // a size that the library pools
  Place (*place_of)(std::size_t bytes, std::size_t alignment);  // class 0: not pooled
  bool (*owns)(const void* p);
  std::size_t (*allocate_batch)(std::size_t bytes, std::size_t count, void** objects);
  void (*release_batch)(void* const* objects, std::size_t count);
};

}  // namespace contract
}  // namespace schema_3
}  // namespace pktmalloc

// Null: the library has no path of that schema, or calls must be seen. Weak, and a function: a
// program runs without it, and no program gets a copy of it.
extern "C" [[gnu::weak]] const pktmalloc::contract::Path* pktmalloc_inline_path(
    std::uint32_t schema);

#endif

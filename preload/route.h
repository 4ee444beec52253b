// SPDX-License-Identifier: MIT
// Route: which requests are pooled, and what becomes of those that are not. The slow half of every
// allocating and freeing function; the fast half is in entry.h.
//
// The next allocator gets a request that is larger than the largest class, needs an alignment that
// no class has, has a size whose class is off (PKTMALLOC_CLASSES), or whose class is exhausted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pktmalloc {

enum class PassReason : uint8_t { kTooLarge, kTooAligned, kClassOff, kExhausted, kNotReserved };
inline constexpr unsigned kPassReasons = 5;
inline constexpr unsigned kSizeBands = 4;
// Upper ends, in bytes; the last band has none.
inline constexpr size_t kSizeBandEnd[kSizeBands - 1] = {32 << 10, 1 << 20, 32 << 20};

// All return nullptr with errno = ENOMEM when there is no memory.
void* allocate_slow(size_t bytes);
void* allocate_zeroed_slow(size_t count, size_t bytes_each, size_t bytes);
// `alignment` is a power of two.
void* allocate_aligned(size_t alignment, size_t bytes);
// p is not null and not ours, bytes not 0. On failure p is untouched.
void* reallocate_foreign(void* p, size_t bytes);

// Keeps errno. p may be null or foreign.
void release_slow(void* p);

// 0 for null; the next allocator's answer for foreign pointers.
size_t usable_size(void* p);

// Requests passed on since start.
uint64_t passed(PassReason reason, unsigned size_band);

}  // namespace pktmalloc

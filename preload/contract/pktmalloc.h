/* SPDX-License-Identifier: MIT */
/* pktmalloc: what a program that links the library may ask of it, beyond malloc. C and C++.
 *
 * Every function may be called from any thread at any time; none of them fails by aborting. A
 * program that should also run without the library can declare them weak. */
#ifndef PKTMALLOC_H
#define PKTMALLOC_H

#include <stddef.h>
#include <stdint.h>

#define PKTMALLOC_VERSION "0.2.0"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library in the process, such as "0.2.0". */
const char* pktmalloc_version(void);

/* Gives everything back to the system that is free and not in another thread's magazines, at once.
 * Returns the bytes given back. */
size_t pktmalloc_trim(void);

/* Puts memory behind so many objects of `bytes` bytes, more than earlier calls did, and behind what
 * their free lists need: taking them for the first time faults no page. It is shared by all threads
 * and never goes back to the system. Takes about half a second a GiB. Returns 0, or, with nothing
 * changed: EINVAL if no class serves objects of that size, ENOMEM if the memory is not there,
 * EAGAIN amid a fork, in a handler that was registered before the library's. */
int pktmalloc_reserve(size_t bytes, size_t objects);

/* The size in bytes of the class that the object at p belongs to; 0 if none has it. */
size_t pktmalloc_class_bytes(const void* p);

/* Takes `count` objects of `bytes` bytes, each as by malloc(bytes), into objects[0], objects[1] and
 * so forth. Returns how many there are: fewer than `count`, perhaps none, only if memory is
 * refused; then errno is ENOMEM, and the caller has those that were got. What lies behind these in
 * the array is undefined. A size beyond PTRDIFF_MAX gives none; bytes times count may overflow.
 * With a count of 0 the array may be null. */
size_t pktmalloc_allocate_batch(size_t bytes, size_t count, void** objects);

/* Frees objects[0] to objects[count - 1] in this order, each as by free: they may have come one by
 * one or from any batch, be of any sizes, null, or another allocator's. Keeps errno and does not
 * write to the array. With a count of 0 the array may be null. */
void pktmalloc_release_batch(void* const* objects, size_t count);

/* Totals of the process; bytes unless the name says otherwise. Defined in docs/statistics.md.
 * Fields are only ever added at the end. */
struct pktmalloc_statistics {
  uint64_t allocated_bytes;
  uint64_t cached_threads_bytes;
  uint64_t cached_depot_bytes;
  uint64_t cached_slabs_bytes;
  uint64_t active_bytes;
  uint64_t free_bytes;
  uint64_t committed_bytes;
  uint64_t purged_bytes;
  uint64_t metadata_bytes;
  uint64_t reserved_bytes;
  uint64_t waiting_bytes;
  uint64_t allocs;
  uint64_t frees;
  uint64_t passed; /* requests given to the next allocator */
  uint64_t threads_seen;
  uint64_t threads_alive;
  uint64_t forks;
  uint64_t populated_bytes; /* put in memory in advance, see pktmalloc_reserve */
  uint64_t limit_bytes;     /* PKTMALLOC_LIMIT and PKTMALLOC_SOFT_LIMIT; 0: none */
  uint64_t soft_limit_bytes;
  uint64_t limited_bytes; /* counted against them */
  uint64_t block_bytes;   /* of live blocks: requests above the classes, in whole units */
};

/* Fills the first `bytes` bytes of *out, sizeof *out in the caller's eyes. Returns how many the
 * library knows: fields behind that are untouched. All are 0 if the system refuses memory to work
 * with. */
size_t pktmalloc_get_statistics(struct pktmalloc_statistics* out, size_t bytes);

/* Writes all statistics, also per class, as JSON text with a terminating zero, cut to fit. Returns
 * the length of the whole text without the zero, as snprintf: bytes <= result means that it was
 * cut. About 20 KB, or none if the system refuses memory to work with. Allocates nothing. */
size_t pktmalloc_statistics_json(char* buffer, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif

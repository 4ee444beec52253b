// SPDX-License-Identifier: MIT
// What clang must know about locks to check what they guard (-Wthread-safety, in `make
// check-tidy`). g++ does not know these attributes.
#pragma once

#ifdef __clang__
#define PKTMALLOC_LOCKING(...) __attribute__((__VA_ARGS__))
#else
#define PKTMALLOC_LOCKING(...)
#endif

#define LOCK_TYPE PKTMALLOC_LOCKING(capability("mutex"))
#define SCOPED_LOCK_TYPE PKTMALLOC_LOCKING(scoped_lockable)
#define GUARDED_BY(mutex) PKTMALLOC_LOCKING(guarded_by(mutex))
#define UNDER(mutex) PKTMALLOC_LOCKING(requires_capability(mutex))  // the caller holds it
#define LOCKS(...) PKTMALLOC_LOCKING(acquire_capability(__VA_ARGS__))
#define UNLOCKS(...) PKTMALLOC_LOCKING(release_capability(__VA_ARGS__))
#define LOCKS_IF_TRUE PKTMALLOC_LOCKING(try_acquire_capability(true))
#define IS_LOCK(mutex) PKTMALLOC_LOCKING(lock_returned(mutex))  // what the function returns
// For one of a pair of functions: the other gives back what this one takes.
#define AROUND_FORK PKTMALLOC_LOCKING(no_thread_safety_analysis)
// Clang cannot follow these: they hold all locks, or read without one and say why.
#define NOT_FOLLOWED PKTMALLOC_LOCKING(no_thread_safety_analysis)

// SPDX-License-Identifier: MIT
// Lookup: the object of any pointer. In the pool the address says where the object's memory begins,
// and where its record is: in place of a state (sizeclass/slabs/object_states.h); elsewhere one of
// two tables does.
//
// Guarded objects are those of one chosen class (PKTMALLOC_GUARD). They end where an inaccessible
// page begins, so that the very instruction that reads or writes past the end is reported. The end
// is rounded up to 16 bytes, because objects must be aligned; the canary watches those up to 15
// bytes. Objects of no bytes always lie so: where they begin nobody may read or write.
//
//     | ... front canary, user bytes, up to 15 canary bytes | guard page |    a slot (guard/slot.h)
//
// Their number fits the system's limit on mappings; further objects of the class have no guard.
//
// Large objects are the dressed ones that no class serves, live or waiting after free. A block's
// record is found as a class's object's is. Addresses of the next allocator say nothing: there a
// pointer is ours only if the table knows it. Its one lock guards only the table.
#pragma once

#include "preload/checked/object.h"
#include "preload/guard/slot.h"
#include "preload/process/thread.h"
#include "sizeclass/base/mutex.h"

namespace pktmalloc::checked {

// A size of 0: only for objects of no bytes.
void start_guard(size_t size);

inline constinit ClassId guarded_class = kNoClass;

// Memory for a request of no bytes, or while there is such a class; no record: it is of another
// class, or no slot is free.
Place allocate_guarded(size_t bytes);
void release_guarded(const Object& object);

// The object whose slot holds p; none: nobody has used it.
Object find_guarded(const void* p);

// For a sweep: with the objects of all slots that were used, or none.
void each_guarded(void (*visit)(const Object&));

// A place for an object of so much memory, up to `end`, whose user's bytes begin there; no record:
// there is no memory for the table, and the memory must be handed out undressed.
Place add_large(char* raw, char* user, char* end);
void remove_large(const Object& object);

// The object that begins at p or contains it.
Object find_large(const void* p);

// For a sweep: the first wanted object from the table's n-th entry on; moves n past it. None: no
// more. It calls `wanted` under the lock, so that nobody gives the memory back meanwhile.
Object next_large(size_t& n, bool (*wanted)(const Object&));

extern Mutex large_objects_mutex;  // held around a fork

// In the pool records are found by the address of the object's usual first byte. kNoClass: a block.
inline Place pooled_place(ClassId id, void* raw) {
  char* const begin = static_cast<char*>(raw);
  return {&heap.state_word<Record>(id, begin + kFront), begin, begin + heap.bytes_of(id, begin)};
}

// The object that begins at p or contains it, or whose canaries do; none: nobody's. Any thread, any
// pointer.
inline Object find_object(const void* p) {
  const ClassId id = heap.class_of(p);
  if (!heap.spans(p)) return is_guarded(p) ? find_guarded(p) : find_large(p);
  const uintptr_t raw = heap.object_at(id, p);
  return raw != 0 ? object_in(pooled_place(id, reinterpret_cast<void*>(raw))) : Object{};
}

// The one that began at p and was given back, if nobody has its memory again; else none.
inline Object find_freed_block(void* p) {
  char* const raw = static_cast<char*>(p) - kFront;
  const size_t bytes = heap.block_bytes(raw, SlabPool::kBlockBegan);
  if (bytes == 0) return {};
  return object_in({&heap.state_word<Record>(kNoClass, raw), raw, raw + bytes});
}

}  // namespace pktmalloc::checked

// SPDX-License-Identifier: MIT
// Reserve: memory for objects before there are any (PKTMALLOC_RESERVE, pktmalloc_reserve).
#include <algorithm>
#include <cerrno>

#include "preload/base/export.h"
#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/base/system_memory.h"
#include "preload/contract/pktmalloc.h"
#include "preload/exports/front.h"
#include "preload/formats/bytes.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {
namespace {

ClassId class_of(size_t bytes) {
  const bool pools = heap.started() && bytes != 0 && bytes <= heap.classes().largest();
  return pools ? heap.classes().find(front::room_for(bytes)) : kNoClass;
}

// Of the system, or of our own limit.
uint64_t available() { return std::min(available_memory(), heap.limit().left()); }

// A system that overcommits would grant more than there is, and end a process later.
bool populate(ClassId id, uint64_t objects, uint64_t there) {
  return heap.bytes_to_populate(id, objects) < there && heap.populate(id, objects) == objects;
}

// Returns for how many objects.
uint64_t populate_on_huge_pages(ClassId id, uint64_t objects) {
  const uint64_t got = heap.populate(id, objects, true);
  // The last slab ends within a page.
  if (objects - got > memory::huge_page_bytes() / heap.classes()[id].object_bytes) {
    message(
        "PKTMALLOC_RESERVE: the system's huge pages serve %llu of %llu objects, and small pages "
        "the rest (/proc/sys/vm/nr_hugepages)",
        number(got), number(objects));
  }
  return got;
}

// In every process, before the program's own constructors if the loader lets us choose.
void load() {
  for (unsigned i = 0; i < options().reserve_count; ++i) {
    const auto [bytes, objects] = options().reserve[i];
    const ClassId id = class_of(bytes);
    if (id == kNoClass) {
      message(
          "PKTMALLOC_RESERVE: objects of %zu bytes are not pooled; nothing is reserved for them",
          bytes);
      continue;
    }
    const uint64_t huge = options().reserve_huge ? populate_on_huge_pages(id, objects) : 0;
    if (const uint64_t there = available(); !populate(id, objects - huge, there)) {
      message(
          "PKTMALLOC_RESERVE: %llu objects of %zu bytes take %s, and there is %s left; nothing is "
          "reserved for them",
          number(objects), bytes, Bytes(heap.bytes_to_populate(id, objects)).text,
          Bytes(there).text);
    }
  }
}

}  // namespace

constinit const Part reserve_part{.load = load};

}  // namespace pktmalloc

using namespace pktmalloc;

PKTMALLOC_EXPORT int pktmalloc_reserve(size_t bytes, size_t objects) {
  const KeepErrno keep;
  cache_of_this_thread();  // the process may not have started
  if (this_thread.forking) return EAGAIN;
  const ClassId id = class_of(bytes);
  if (id == kNoClass) return EINVAL;
  return populate(id, objects, available()) ? 0 : ENOMEM;
}

// SPDX-License-Identifier: MIT
#include "preload/checked/poison.h"

#include <sys/mman.h>

#include "preload/process/heap.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc::checked {
namespace {

// The user's bytes are those before whole pages that went back, these pages, and from `tail` on.
struct Parts {
  explicit Parts(const Object& object) {
    if (object.bytes() < kLeastLarge || Heap::is_class(heap.owner(object.user))) return;
    const size_t page = memory::page_bytes();
    const uintptr_t from = reinterpret_cast<uintptr_t>(object.user);
    head = round_up(from, page) - from;
    tail = head + (object.bytes() - head) / page * page;
  }
  size_t head = 0, tail = 0;
};

bool protect(void* pages, size_t bytes, int access) {
  const KeepErrno keep_errno;
  return mprotect(pages, bytes, access) == 0;
}

// Position of the first byte that was written among the first `head` and from `tail` on.
size_t first_written(const Object& object, size_t head, size_t tail) {
  const size_t at = first_other(object.user, kFiller, head);
  if (at < head) return at;
  return tail + first_other(object.user + tail, kFiller, object.bytes() - tail);
}

}  // namespace

bool expose(const Object& object) {
  const auto [head, tail] = Parts(object);
  return head == tail || protect(object.user + head, tail - head, PROT_READ | PROT_WRITE);
}

void poison_large(const Object& object) {
  const auto [head, tail] = Parts(object);
  fill(object.user, kFiller, head);
  if (head < tail) memory::purge(object.user + head, tail - head);
  if (head < tail) protect(object.user + head, tail - head, PROT_NONE);
  fill(object.user + tail, kFiller, object.bytes() - tail);
}

size_t first_written_at_ends(const Object& object) {
  const size_t bytes = object.bytes();
  if (bytes <= kPoisonedWhole) return first_written(object, bytes, bytes);
  return first_written(object, kPoisonedHead, bytes - kPoisonedTail);
}

size_t first_written(const Object& object) {
  const auto [head, tail] = Parts(object);
  return first_written(object, head, tail);
}

}  // namespace pktmalloc::checked

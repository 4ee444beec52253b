// SPDX-License-Identifier: MIT
#include "preload/checked/poison.h"

#include <sys/mman.h>

#include <algorithm>

#include "preload/process/heap.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc::checked {
namespace {

constexpr size_t kLeastLarge = 16 << 10;  // below, giving pages back costs more

bool protect(void* pages, size_t bytes, int access) {
  const KeepErrno keep_errno;
  return mprotect(pages, bytes, access) == 0;
}

}  // namespace

Ends long_ends(const Object& object) {
  if (object.bytes() < kLeastLarge || heap.owns(object.user)) return {};
  const size_t page = memory::page_bytes();
  const uintptr_t from = reinterpret_cast<uintptr_t>(object.user);
  // Where pages have 64 KiB it may be smaller than one.
  const size_t head = std::min(round_up(from, page) - from, object.bytes());
  return {head, head + (object.bytes() - head) / page * page};
}

void poison_long(const Object& object) {
  const auto [head, tail] = long_ends(object);
  poison(object, {head, tail});
  if (head == tail) return;
  memory::purge(object.user + head, tail - head);
  protect(object.user + head, tail - head, PROT_NONE);
}

bool expose(const Object& object) {
  const auto [head, tail] = long_ends(object);
  return head == tail || protect(object.user + head, tail - head, PROT_READ | PROT_WRITE);
}

size_t first_written(const Object& object, Ends ends) {
  const size_t at = first_other(object.user, ends.head);
  if (at < ends.head) return at;
  return ends.tail + first_other(object.user + ends.tail, object.bytes() - ends.tail);
}

}  // namespace pktmalloc::checked

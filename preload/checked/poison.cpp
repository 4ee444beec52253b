// SPDX-License-Identifier: MIT
#include "preload/checked/poison.h"

#include <sys/mman.h>

#include "preload/process/heap.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc::checked {
namespace {

// The user's bytes: those before the returned whole pages, these pages, those after them.
struct Parts {
  explicit Parts(const Header& header)
      : begin(static_cast<char*>(header.user())), end(begin + header.bytes) {
    if (header.bytes < kLeastLarge || Heap::is_class(heap.owner(begin))) return;
    const size_t page = memory::page_bytes();
    const uintptr_t from = reinterpret_cast<uintptr_t>(begin);
    front = round_up(from, page) - from;
    pages = (header.bytes - front) / page * page;
  }

  char* begin;
  char* end;
  size_t front = 0, pages = 0;
};

bool protect(void* pages, size_t bytes, int access) {
  const KeepErrno keep_errno;
  return mprotect(pages, bytes, access) == 0;
}

}  // namespace

bool expose(const Header& header) {
  const Parts parts(header);
  return parts.pages == 0 ||
         protect(parts.begin + parts.front, parts.pages, PROT_READ | PROT_WRITE);
}

void poison_large(Header& header) {
  const Parts parts(header);
  char* const pages = parts.begin + parts.front;
  char* const behind = pages + parts.pages;
  fill(parts.begin, kFreedByte, parts.front);
  if (parts.pages > 0) memory::purge(pages, parts.pages);
  if (parts.pages > 0) protect(pages, parts.pages, PROT_NONE);
  fill(behind, kFreedByte, static_cast<size_t>(parts.end - behind));
}

size_t first_written_at_ends(const Header& header) {
  const char* const user = static_cast<const char*>(header.user());
  const size_t bytes = header.bytes;
  if (bytes <= kPoisonedWhole) return first_other(user, kFreedByte, bytes);
  const size_t at = first_other(user, kFreedByte, kPoisonedHead);
  if (at < kPoisonedHead) return at;
  const size_t tail = bytes - kPoisonedTail;
  return tail + first_other(user + tail, kFreedByte, kPoisonedTail);
}

size_t first_written(const Header& header) {
  const Parts parts(header);
  const char* const behind = parts.begin + parts.front + parts.pages;
  const size_t at = first_other(parts.begin, kFreedByte, parts.front);
  if (at < parts.front) return at;
  return at + parts.pages +
         first_other(behind, kFreedByte, static_cast<size_t>(parts.end - behind));
}

}  // namespace pktmalloc::checked

// SPDX-License-Identifier: MIT
#include "preload/checked/poison.h"

#include "preload/process/heap.h"
#include "sizeclass/memory.h"
#include "sizeclass/rounding.h"

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

}  // namespace

void poison_large(Header& header) {
  const Parts parts(header);
  char* const pages = parts.begin + parts.front;
  char* const behind = pages + parts.pages;
  fill(parts.begin, kFreedByte, parts.front);
  // The system does not take back locked pages.
  if (parts.pages > 0 && !memory::purge(pages, parts.pages)) memset(pages, 0, parts.pages);
  fill(behind, kFreedByte, static_cast<size_t>(parts.end - behind));
}

size_t first_written_at_ends(const Header& header) {
  const char* const user = static_cast<const char*>(header.user());
  const size_t bytes = header.bytes;
  if (bytes <= kPoisonedHead + kPoisonedTail) return first_other(user, kFreedByte, bytes);
  const size_t at = first_other(user, kFreedByte, kPoisonedHead);
  if (at < kPoisonedHead) return at;
  const size_t tail = bytes - kPoisonedTail;
  return tail + first_other(user + tail, kFreedByte, kPoisonedTail);
}

size_t first_written(const Header& header) {
  const Parts parts(header);
  const char* const pages = parts.begin + parts.front;
  const char* const behind = pages + parts.pages;
  size_t at = first_other(parts.begin, kFreedByte, parts.front);
  if (at == parts.front) at += first_other(pages, 0, parts.pages);
  if (at == parts.front + parts.pages) {
    at += first_other(behind, kFreedByte, static_cast<size_t>(parts.end - behind));
  }
  return at;
}

}  // namespace pktmalloc::checked

// SPDX-License-Identifier: MIT
#include "tools/command/heap/dress.h"

#include "preload/checked/object.h"

namespace pktmalloc {
namespace {

using checked::Header;

bool is_header(const Header& header, uint32_t front) {
  return header.fits_itself() && checked::front_bytes(header.alignment()) == front;
}

}  // namespace

std::optional<uint32_t> program_bytes_at(LibraryKind kind, const ObjectHead& head,
                                         const RemoteMemory& memory, uint32_t object_bytes) {
  if (kind != LibraryKind::kChecked) return 0;
  static_assert(sizeof(Header) == kDressBytes);
  alignas(Header) char copy[sizeof(Header)];
  const auto& header = *reinterpret_cast<const Header*>(copy);
  for (uint32_t front = sizeof(Header); front < object_bytes; front *= 2) {
    const uint32_t at = front - static_cast<uint32_t>(sizeof(Header));
    if (front <= head.size) {
      memcpy(copy, head.bytes + at, sizeof copy);
    } else {
      const RemoteMemory::Piece piece{head.address + at, copy, sizeof copy};
      memory.copy_all({&piece, 1});
    }
    if (!is_header(header, front)) continue;
    if (header.freed_at.load(std::memory_order_relaxed) != 0) return std::nullopt;
    return front;
  }
  return std::nullopt;
}

void forget_waiting(LibraryKind kind, RemoteHeap& heap, const RemoteMemory& memory) {
  if (kind != LibraryKind::kChecked) return;
  each_head(heap, memory, kDressBytes, [&](const ObjectHead& head) {
    const uint32_t object_bytes = heap.size_class(head.slab.of).object_bytes;
    if (!program_bytes_at(kind, head, memory, object_bytes)) heap.forget(head.slab, head.object);
  });
}

}  // namespace pktmalloc

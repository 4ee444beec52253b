// SPDX-License-Identifier: MIT
#include "tools/command/heap/heap_copy.h"

#include <sys/mman.h>

#include <cstring>

#include "tools/command/failure.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

constexpr size_t kUnit = size_t{1} << RemoteHeap::kUnitShift;
constexpr size_t kPieceMost = size_t{1} << 20;

}  // namespace

HeapCopy::HeapCopy(const RemoteHeap& heap, const RemoteMemory& memory) : units_(heap.units()) {
  const size_t bytes = units_.end - units_.begin;
  if (bytes == 0) {
    bytes_ = nullptr;
    return;
  }
  void* const room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw Failure("there is no memory for a copy of {}", bytes_text(bytes));
  madvise(room, bytes, MADV_HUGEPAGE);
  bytes_ = static_cast<char*>(room);
  std::vector<Piece> pieces;
  heap.each_owned_unit([&](uint64_t address) {
    if (!pieces.empty() && pieces.back().address + pieces.back().bytes == address &&
        pieces.back().bytes < kPieceMost) {
      pieces.back().bytes += kUnit;
    } else {
      pieces.push_back({address, bytes_ + (address - units_.begin), kUnit});
    }
  });
  memory.copy_all(pieces);
}

HeapCopy::~HeapCopy() {
  if (bytes_ != nullptr) munmap(bytes_, units_.end - units_.begin);
}

size_t HeapCopy::copy(std::span<const Piece> pieces) const {
  size_t done = 0;
  for (const Piece& piece : pieces) {
    if (piece.address < units_.begin || piece.address >= units_.end ||
        piece.bytes > units_.end - piece.address) {
      break;
    }
    memcpy(piece.to, words_at(piece.address), piece.bytes);
    ++done;
  }
  return done;
}

}  // namespace pktmalloc

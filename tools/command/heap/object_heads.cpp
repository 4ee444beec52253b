// SPDX-License-Identifier: MIT
#include "tools/command/heap/object_heads.h"

#include <algorithm>
#include <vector>

namespace pktmalloc {
namespace {

constexpr size_t kAtOnce = size_t{4} << 20;  // bytes: they stay in the processor's cache
// To ask for a piece costs as much as to copy so many bytes.
constexpr uint64_t kPiece = 800;

// Slabs, whole or object by object, until there is enough to be read.
class Batch {
 public:
  Batch(const RemoteHeap& heap, const RemoteMemory& memory, uint32_t least,
        const std::function<void(const ObjectHead&)>& visit)
      : heap_(heap), memory_(memory), least_(least), visit_(visit), bytes_(2 * kAtOnce) {}

  void add(const RemoteHeap::Slab& slab) {
    const uint32_t object_bytes = heap_.size_class(slab.of).object_bytes;
    const uint64_t live = heap_.live_objects(slab);
    const bool whole = live * kPiece >= heap_.slab_bytes(slab);
    const uint32_t size = whole ? object_bytes : std::min(least_, object_bytes);
    if (whole) add_piece(slab.start, heap_.slab_bytes(slab));
    const uint64_t at = whole ? used_ - heap_.slab_bytes(slab) : 0;
    heap_.each_live(slab, [&](uint32_t object, uint64_t address) {
      if (!whole) add_piece(address, size);
      const char* const bytes =
          whole ? &bytes_[at + (address - slab.start)] : &bytes_[used_ - size];
      heads_.push_back({slab, object, address, bytes, size});
    });
    if (used_ >= kAtOnce) finish();
  }

  void finish() {
    memory_.copy_all(pieces_);
    for (const ObjectHead& head : heads_) visit_(head);
    pieces_.clear();
    heads_.clear();
    used_ = 0;
  }

 private:
  void add_piece(uint64_t address, uint64_t bytes) {
    pieces_.push_back({address, &bytes_[used_], bytes});
    used_ += bytes;
  }

  const RemoteHeap& heap_;
  const RemoteMemory& memory_;
  const uint32_t least_;
  const std::function<void(const ObjectHead&)>& visit_;
  std::vector<char> bytes_;  // a slab has at most 1 MiB
  size_t used_ = 0;
  std::vector<RemoteMemory::Piece> pieces_;
  std::vector<ObjectHead> heads_;
};

}  // namespace

void each_head(const RemoteHeap& heap, const RemoteMemory& memory, uint32_t least,
               const std::function<void(const ObjectHead&)>& visit) {
  Batch batch(heap, memory, least, visit);
  for (const RemoteHeap::Slab& slab : heap.slabs()) batch.add(slab);
  batch.finish();
}

}  // namespace pktmalloc

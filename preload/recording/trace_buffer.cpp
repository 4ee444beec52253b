// SPDX-License-Identifier: MIT
#include "preload/recording/trace_buffer.h"

#include "preload/base/mapping.h"
#include "preload/base/options.h"
#include "preload/recording/recording.h"

namespace pktmalloc {
namespace {

constinit std::atomic<TraceBuffer*> buffers = nullptr;  // all ever made
constinit std::atomic<bool> recorded = false;           // some of them lie in the recording

TraceBuffer* new_buffer() {
  // A trace by order has no place there.
  const bool records = options().trace_path != nullptr;
  void* const chunk = records ? add_chunk(recording::ChunkKind::kTrace, 0) : nullptr;
  if (chunk != nullptr) recorded.store(true, std::memory_order_relaxed);
  return static_cast<TraceBuffer*>(chunk != nullptr ? chunk : map_lazily(trace::kMostBlockBytes));
}

}  // namespace

TraceBuffer* first_buffer() { return buffers.load(std::memory_order_acquire); }

TraceBuffer* take_buffer() {
  for (TraceBuffer* b = buffers.load(std::memory_order_acquire); b != nullptr; b = b->next) {
    if (!b->taken.load(std::memory_order_relaxed) &&
        !b->taken.exchange(true, std::memory_order_acquire)) {
      return b;
    }
  }
  TraceBuffer* b = new_buffer();
  if (b == nullptr) return nullptr;
  b->taken.store(true, std::memory_order_relaxed);
  b->next = buffers.load(std::memory_order_relaxed);
  while (!buffers.compare_exchange_weak(b->next, b, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
  return b;
}

bool forget_recorded_buffers() {
  if (!recorded.exchange(false, std::memory_order_relaxed)) return false;
  buffers.store(nullptr, std::memory_order_relaxed);
  return true;
}

}  // namespace pktmalloc

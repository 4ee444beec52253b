// SPDX-License-Identifier: MIT
// TraceBuffer: one thread's records since its last block of the trace. If there is a recording, it
// lies there.
//
// Only its owner writes. Whoever holds the file's lock may read up to `used`, and only under that
// lock does `used` fall.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/mapping.h"
#include "preload/base/options.h"
#include "preload/formats/trace_format.h"
#include "preload/recording/recording.h"
#include "sizeclass/base/clock.h"

namespace pktmalloc {

struct TraceRecord {
  trace::RecordKind kind;
  const void* p;
  size_t bytes = 0;
  unsigned special = 0;  // of trace::Special
  const void* from = nullptr;
};

// `used`: release; partner: the acquire in write_out()
struct TraceBuffer : trace::OpenBlock {
  TraceBuffer* next;  // of all buffers; constant once it is in the list
  std::atomic<bool> taken;
  std::atomic<uint32_t> session;  // the trace that the records belong to; its owner changes it
  trace::Position position;

  bool full() const {
    return used.load(std::memory_order_relaxed) + trace::kMostRecordBytes > sizeof bytes;
  }

  void restart() {
    position = {};
    block.bytes = 0;
    used.store(0, std::memory_order_relaxed);
  }

  void add(const TraceRecord& record) {
    const uint64_t now = clock_ns();
    if (used.load(std::memory_order_relaxed) == 0) block.start_ns = position.time_ns = now;
    unsigned char* out = bytes + used.load(std::memory_order_relaxed);
    *out++ = static_cast<unsigned char>(record.kind | entry_of(record.p) << 2);
    out = trace::put_varint(out, now - position.time_ns);
    out = put_address(out, record.p);
    if (record.kind < trace::kRelease) out = trace::put_varint(out, record.bytes);
    if (record.kind == trace::kSpecialAllocation) {
      *out++ = static_cast<unsigned char>(record.special);
      if (record.special >= trace::kResized) {
        *out++ = static_cast<unsigned char>(entry_of(record.from));
        out = put_address(out, record.from);
      }
    }
    position.time_ns = now;
    used.store(static_cast<uint32_t>(out - bytes), std::memory_order_release);
  }

 private:
  static unsigned entry_of(const void* p) {
    return trace::Position::entry_of(reinterpret_cast<uintptr_t>(p));
  }

  unsigned char* put_address(unsigned char* out, const void* p) {
    uint64_t& latest = position.latest[entry_of(p)];
    const uint64_t address = reinterpret_cast<uintptr_t>(p) / 8;
    out = trace::put_varint(out, trace::zigzag(address - latest));
    latest = address;
    return out;
  }
};
static_assert(sizeof(TraceBuffer) <= trace::kMostBlockBytes);

inline constinit std::atomic<TraceBuffer*> buffers = nullptr;  // all ever made
inline constinit std::atomic<bool> recorded = false;           // some of them lie in the recording

inline TraceBuffer* new_buffer() {
  // A trace by order has no place there.
  const bool records = options().trace_path != nullptr;
  void* const chunk = records ? add_chunk(recording::ChunkKind::kTrace, 0) : nullptr;
  if (chunk != nullptr) recorded.store(true, std::memory_order_relaxed);
  return static_cast<TraceBuffer*>(chunk != nullptr ? chunk : map_lazily(trace::kMostBlockBytes));
}

// Linked by `next`.
inline TraceBuffer* first_buffer() { return buffers.load(std::memory_order_acquire); }

// One that nobody has; nullptr: no memory.
inline TraceBuffer* take_buffer() {
  for (TraceBuffer* b = first_buffer(); b != nullptr; b = b->next) {
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

// In the child of a fork: if some lie in its parent's recording, forgets all; then true.
inline bool forget_recorded_buffers() {
  if (!recorded.exchange(false, std::memory_order_relaxed)) return false;
  buffers.store(nullptr, std::memory_order_relaxed);
  return true;
}

}  // namespace pktmalloc

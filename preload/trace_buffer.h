// SPDX-License-Identifier: MIT
// TraceBuffer: one thread's records since its last block of the trace.
//
// Its owner alone writes. Up to `used` whoever holds the lock of the file may read, and only under
// that lock does `used` fall.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "preload/trace_format.h"
#include "sizeclass/clock.h"

namespace pktmalloc {

struct TraceBuffer {
  TraceBuffer* next = nullptr;  // of all buffers; constant once it is in the list
  std::atomic<bool> taken = false;
  std::atomic<uint32_t> used = 0;  // release; partner: the acquire in write_out()
  trace::Position position{};
  trace::Block block{};
  unsigned char bytes[trace::kMostBlockBytes - 1024];

  bool full() const {
    return used.load(std::memory_order_relaxed) + trace::kMostRecordBytes > sizeof bytes;
  }

  void restart() {
    position = {};
    used.store(0, std::memory_order_relaxed);
  }

  void add(trace::RecordKind kind, const void* p, size_t size, size_t alignment) {
    const uint64_t now = clock_ns();
    if (used.load(std::memory_order_relaxed) == 0) block.start_ns = position.time_ns = now;
    const uint64_t address = reinterpret_cast<uintptr_t>(p);
    const unsigned entry = trace::Position::entry_of(address);
    uint64_t& latest = position.latest[entry];
    unsigned char* out = bytes + used.load(std::memory_order_relaxed);
    *out++ = static_cast<unsigned char>(kind | entry << 2);
    out = trace::put_varint(out, now - position.time_ns);
    out = trace::put_varint(out, trace::zigzag(address / 8 - latest));
    if (kind != trace::kRelease) out = trace::put_varint(out, size);
    if (kind == trace::kAlignedAllocation) {
      *out++ = static_cast<unsigned char>(std::countr_zero(alignment));
    }
    position.time_ns = now;
    latest = address / 8;
    used.store(static_cast<uint32_t>(out - bytes), std::memory_order_release);
  }
};
static_assert(sizeof(TraceBuffer) <= trace::kMostBlockBytes);
static_assert(offsetof(TraceBuffer, bytes) == offsetof(TraceBuffer, block) + sizeof(trace::Block));

}  // namespace pktmalloc

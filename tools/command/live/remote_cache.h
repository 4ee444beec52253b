// SPDX-License-Identifier: MIT
// RemoteCache: a thread's free lists (sizeclass/heap/cache.h) as they were in another process.
// Classes count from 0 here, as in the window.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>

#include "preload/formats/live_window.h"
#include "tools/command/system/remote_memory.h"

namespace pktmalloc {

class RemoteCache {
 public:
  RemoteCache(const HeapWindow& window, uint64_t address, const char* bytes)
      : shape_(window.cache), address_(address), bytes_(bytes) {}

  uint64_t address() const { return address_; }
  uint64_t next() const { return at<uint64_t>(shape_.next); }
  uint64_t allocated(unsigned of) const { return at<uint64_t>(shape_.allocated + 8 * of); }
  uint64_t top(unsigned of) const { return at<uint64_t>(shape_.tops + 8 * of); }
  // Magazines; 0: none.
  uint64_t loaded(unsigned of) const { return in_line<uint64_t>(of, shape_.loaded); }
  uint64_t previous(unsigned of) const { return in_line<uint64_t>(of, shape_.previous); }
  // Objects in that one.
  uint64_t previous_rounds(unsigned of) const {
    return in_line<uint32_t>(of, shape_.previous_rounds);
  }
  // Taken, given, takes, gives.
  uint64_t trips(unsigned of, unsigned n) const {
    return in_line<uint64_t>(of, shape_.trips + 8 * n);
  }
  uint64_t tally(unsigned n) const { return at<uint64_t>(shape_.tallies + 8 * n); }
  uint64_t marks() const { return at<uint64_t>(shape_.marks); }
  bool is_changing() const { return at<uint8_t>(shape_.changing) != 0; }

 private:
  template <typename Value>
  Value at(uint64_t place) const {
    Value value;
    memcpy(&value, bytes_ + place, sizeof value);
    return value;
  }
  template <typename Value>
  Value in_line(unsigned of, uint64_t place) const {
    return at<Value>(shape_.lines + of * shape_.line_bytes + place);
  }

  const Cache::Shape& shape_;
  uint64_t address_;
  const char* bytes_;
};

// Calls visit(cache) for each of the list that begins with the cache at `first`; `most` is how many
// can be there.
void each_cache(const HeapWindow& window, const RemoteMemory& memory, uint64_t first, uint64_t most,
                const std::function<void(const RemoteCache&)>& visit);

}  // namespace pktmalloc

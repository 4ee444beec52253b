// SPDX-License-Identifier: MIT
// What a cache or a TLB remembers: keys in sets of a few ways. Of a full set the key goes that was
// used longest ago. A key is the number of a line or a page; its lowest part chooses the set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simulated {

struct Shape {
  std::size_t sets, ways;
};

class SetAssociative {
 public:
  explicit SetAssociative(Shape shape) : shape_(shape), keys_(shape.sets * shape.ways, kNone) {}

  // Whether the key was there. Afterwards it is, as the latest of its set.
  bool access(std::uint64_t key) {
    const auto first = set_of(key), last = first + ways();
    const auto found = std::find(first, last, key);
    const bool hit = found != last;
    // The latest stands first. A miss moves every key by one place, over the last.
    std::move_backward(first, hit ? found : last - 1, hit ? found + 1 : last);
    *first = key;
    return hit;
  }

  // The key is no longer there; its place is the next to be taken.
  void forget(std::uint64_t key) {
    const auto first = set_of(key), last = first + ways();
    std::fill(std::remove(first, last, key), last, kNone);
  }

 private:
  using Place = std::vector<std::uint64_t>::iterator;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // neither a line nor a page

  Place set_of(std::uint64_t key) {
    return keys_.begin() + static_cast<std::ptrdiff_t>(key % shape_.sets * shape_.ways);
  }
  std::ptrdiff_t ways() const { return static_cast<std::ptrdiff_t>(shape_.ways); }

  Shape shape_;
  std::vector<std::uint64_t> keys_;
};

}  // namespace simulated

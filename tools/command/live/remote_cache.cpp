// SPDX-License-Identifier: MIT
#include "tools/command/live/remote_cache.h"

#include <algorithm>
#include <vector>

namespace pktmalloc {
namespace {

constexpr size_t kAtOnce = 128;
constexpr uint64_t kMost = uint64_t{1} << 17;  // more than the library has room for

struct alignas(Cache) Copy {
  char bytes[sizeof(Cache)];
};

}  // namespace

// A new cache is put in front of the list and lies behind all older ones: from the first one
// downwards is a good guess, and an address that does not fall is none of a list.
void each_cache(const RemoteMemory& memory, uint64_t first, uint64_t bytes,
                const std::function<void(const RemoteCache&)>& visit) {
  uint64_t most = std::min(bytes / sizeof(Cache), kMost);
  std::vector<Copy> block(std::min<uint64_t>(kAtOnce, most));
  while (first != 0 && most > 0) {
    std::vector<RemoteMemory::Piece> pieces;
    for (size_t i = 0; i < std::min<uint64_t>(kAtOnce, most); ++i) {
      pieces.push_back({first - i * sizeof(Cache), &block[i], sizeof(Cache)});
    }
    const size_t got = memory.copy(pieces);
    if (got == 0) return;
    for (size_t i = 0; i < got && first == pieces[i].address; ++i, --most) {
      const RemoteCache cache(first, reinterpret_cast<const Cache&>(block[i]));
      visit(cache);
      const uint64_t next = cache.next();
      first = next < first ? next : 0;
    }
  }
}

}  // namespace pktmalloc

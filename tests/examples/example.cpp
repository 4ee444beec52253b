// SPDX-License-Identifier: MIT
// A program in C++ that is linked with pktmalloc: operator new is served by it, std::make_shared
// and containers included.
#include <pktmalloc.h>

#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

struct Packet {
  char bytes[1500];
};

struct alignas(256) Aligned {
  char bytes[256];
};

}  // namespace

int main() {
  if (std::string(pktmalloc_version()) != PKTMALLOC_VERSION) return 1;

  std::vector<std::shared_ptr<Packet>> packets;
  for (int i = 0; i < 20000; ++i) {
    packets.push_back(std::make_shared<Packet>());
    if (pktmalloc_class_bytes(packets.back().get()) < sizeof(Packet)) return 2;
  }
  const auto aligned = std::make_unique<Aligned>();
  if (pktmalloc_class_bytes(aligned.get()) == 0) return 3;
  const std::unique_ptr<int> nothrow(new (std::nothrow) int(5));
  if (pktmalloc_class_bytes(nothrow.get()) == 0) return 4;

  pktmalloc_statistics statistics{};
  if (pktmalloc_get_statistics(&statistics, sizeof statistics) < sizeof statistics) return 5;
  if (statistics.allocated_bytes < packets.size() * sizeof(Packet)) return 6;
  packets.clear();
  if (pktmalloc_trim() == 0) return 7;

  std::string json(1 << 17, '\0');
  json.resize(pktmalloc_statistics_json(json.data(), json.size()));
  if (json.find("\"schema\"") == std::string::npos) return 8;

  try {
    operator delete(operator new (size_t{1} << 60));
    return 9;
  } catch (const std::bad_alloc&) {
  }
  std::printf("pktmalloc %s\n", pktmalloc_version());
  return 0;
}

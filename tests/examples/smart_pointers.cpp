// SPDX-License-Identifier: MIT
// Smart pointers to objects that are taken from the thread's own lists without a call; the class
// itself need not change.
#include <pktmalloc.hpp>

#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

struct Packet {
  explicit Packet(int n) : number(n) {}
  int number;
  char payload[1500];
};

int main() {
  // As std::unique_ptr, which it is, with a deleter of no size.
  std::vector<pktmalloc::unique_ptr<Packet>> packets;
  for (int i = 0; i < 1000; ++i) packets.push_back(pktmalloc::make_unique<Packet>(i));

  // A std::shared_ptr: object and counters are one block.
  const std::shared_ptr<Packet> shared = pktmalloc::make_shared<Packet>(1000);
  std::weak_ptr<Packet> weak = shared;

  // Any thread may release.
  long sum = shared->number;
  std::thread([&] {
    for (auto& packet : packets) sum += packet->number;
    packets.clear();
  }).join();
  std::printf("%ld %d\n", sum, weak.expired());
}

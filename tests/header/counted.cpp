// SPDX-License-Identifier: MIT
// Makes 100,000 pairs of each kind that pktmalloc.hpp inlines and prints how many of them called
// malloc and free. Linked with --wrap=malloc, --wrap=free and --wrap=posix_memalign.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <thread>

#include "pktmalloc.hpp"

namespace {

// Of every thread, as one works at a time.
long allocations = 0, releases = 0;

constexpr long kPairs = 100'000;

struct Packet : pktmalloc::pooled<Packet> {
  char bytes[1500];
};

void use(void* p) { asm volatile("" : : "r"(p) : "memory"); }

template <typename Pair>
void count(const char* what, Pair pair) {
  allocations = releases = 0;
  for (long i = 0; i < kPairs; ++i) pair();
  std::printf("%s %ld %ld\n", what, allocations, releases);
}

template <std::size_t kBytes, std::size_t kAlignment = 16>
void pair() {
  void* const p = pktmalloc::allocate<kBytes, kAlignment>();
  use(p);
  pktmalloc::release<kBytes, kAlignment>(p);
}

}  // namespace

extern "C" {
void* __real_malloc(std::size_t);
void __real_free(void*);
int __real_posix_memalign(void**, std::size_t, std::size_t);

void* __wrap_malloc(std::size_t bytes) {
  ++allocations;
  return __real_malloc(bytes);
}
void __wrap_free(void* p) {
  ++releases;
  __real_free(p);
}
int __wrap_posix_memalign(void** p, std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __real_posix_memalign(p, alignment, bytes);
}
}

int main() {
  std::thread([] { count("thread", pair<64>); }).join();
  count("64", pair<64>);
  count("48", pair<48>);
  count("1500", pair<1500>);
  count("aligned", pair<256, 64>);
  count("100000", pair<100'000>);
  count("class", [] {
    Packet* const packet = new Packet;
    use(packet);
    delete packet;
  });
  count("unique", [] { use(pktmalloc::make_unique<int>(1).get()); });
  count("shared", [] { use(pktmalloc::make_shared<int>(1).get()); });
  std::list<int, pktmalloc::allocator<int>> list;
  count("list", [&] {
    list.push_back(1);
    if (list.size() > 100) list.pop_front();
  });
  // Whoever serves malloc takes what a batch gave.
  void* objects[32];
  for (int n = 0; n < 100; ++n) {
    const std::size_t got = pktmalloc::allocate_batch(64, 32, objects);
    for (std::size_t i = 0; i < got; ++i) std::free(objects[i]);
    for (void*& p : objects) p = std::malloc(64);
    pktmalloc::release_batch(objects, 32);
  }
}

// SPDX-License-Identifier: MIT
// Objects of all sizes by all functions: "whole" uses every byte of them and no other; "0" and so
// on changes the byte behind each one that came by that way, "resize" before resizing; they print
// how many it were, and nothing when there is no such way.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <random>
#include <string>
#include <vector>

#include "tests/programs/check.h"

namespace {

template <typename T>
T* hidden(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

struct Way {
  void* (*allocate)(size_t);
  void (*release)(void*, size_t);
};

const Way kWays[] = {
    {[](size_t n) { return malloc(n); }, [](void* p, size_t) { free(p); }},
    {[](size_t n) { return calloc(n, 1); }, [](void* p, size_t) { free(p); }},
    {[](size_t n) { return realloc(malloc(n / 2 + 1), n); }, [](void* p, size_t) { free(p); }},
    {[](size_t n) { return realloc(malloc(n + n / 4), n); }, [](void* p, size_t) { free(p); }},
    {[](size_t n) { return realloc(malloc(3 * n), n); }, [](void* p, size_t) { free(p); }},
    {[](size_t n) { return aligned_alloc(64, n); }, [](void* p, size_t) { free(p); }},
    {[](size_t n) { return memalign(256, n); }, [](void* p, size_t) { free(realloc(p, 0)); }},
    {[](size_t n) { return ::operator new(n); },
     [](void* p, size_t n) { ::operator delete(p, n); }},
    {[](size_t n) { return ::operator new[](n); }, [](void* p, size_t) { ::operator delete[](p); }},
    {[](size_t n) { return ::operator new (n, std::align_val_t{128}); },
     [](void* p, size_t n) { ::operator delete (p, n, std::align_val_t{128}); }},
};

const size_t kSizes[] = {1,   7,   8,    9,    15,   16,   24,    56,    57,    64,     100,
                         120, 121, 1000, 1500, 2040, 4096, 16384, 32761, 32768, 100000, 200000};

struct Object {
  unsigned char* p;
  size_t bytes;
  const Way* way;
};

// Held at the same time, so that a byte too many would be another's.
void whole() {
  std::mt19937 random(1);
  std::vector<Object> held;
  for (int i = 0; i < 30'000; ++i) {
    const Way& way = kWays[random() % std::size(kWays)];
    const size_t bytes = kSizes[random() % std::size(kSizes)];
    auto* const p = static_cast<unsigned char*>(hidden(way.allocate(bytes)));
    CHECK(malloc_usable_size(p) == bytes);
    memset(p, 0xFF, bytes);
    held.push_back({p, bytes, &way});
    if (held.size() < 500) continue;
    const size_t at = random() % held.size();
    held[at].way->release(held[at].p, held[at].bytes);
    held[at] = held.back();
    held.pop_back();
  }
  for (const Object& object : held) object.way->release(object.p, object.bytes);
}

void overflow(const Way& way) {
  for (const size_t bytes : kSizes) {
    auto* const p = static_cast<unsigned char*>(hidden(way.allocate(bytes)));
    hidden(p)[bytes] ^= 0x10;
    way.release(p, bytes);
  }
  printf("%zu\n", std::size(kSizes));
}

void overflow_before_resize() {
  for (const size_t to : {100, 3000}) {  // in place, and moved
    auto* const p = static_cast<unsigned char*>(hidden(malloc(90)));
    hidden(p)[90] = 0;
    auto* const q = static_cast<unsigned char*>(realloc(p, to));
    memset(q, 0xFF, to);
    free(q);
  }
  puts("2");
}

}  // namespace

int main(int, char** argv) {
  const std::string what = argv[1];
  if (what == "whole") {
    whole();
  } else if (what == "resize") {
    overflow_before_resize();
  } else if (const size_t way = strtoul(argv[1], nullptr, 10); way < std::size(kWays)) {
    overflow(kWays[way]);
  }
  return 0;
}

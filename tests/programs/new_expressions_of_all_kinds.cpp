// SPDX-License-Identifier: MIT
// What the compiler makes of new and delete: arrays with their count before them, types with an
// alignment of their own, constructors that throw, containers. All of it comes back.
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

#include "check.h"
#include "interface.h"

namespace {

int alive = 0;

template <size_t kAlignment, size_t kBytes>
struct alignas(kAlignment) Thing {
  Thing() {
    CHECK(reinterpret_cast<uintptr_t>(this) % kAlignment == 0);
    CHECK(pktmalloc_class_bytes(this) > 0 || kBytes >= 262144);
    if (throws) throw 7;
    ++alive;
  }
  ~Thing() { --alive; }
  char bytes[kBytes];
  static inline bool throws = false;
};

struct Base {
  Base() { ++alive; }
  virtual ~Base() { --alive; }
};
struct Derived : Base {
  char bytes[500];
};

template <typename T>
void kinds() {
  delete new T;
  delete new (std::nothrow) T;
  for (const size_t count : {0, 1, 7}) {
    delete[] new T[count];
    delete[] new (std::nothrow) T[count];
    std::vector<T> vector(count);
    std::make_unique<T[]>(count);
    std::make_shared<T[]>(count);
  }
  std::make_shared<T>();
  const std::shared_ptr<T> shared(new T);
  T::throws = true;
  for (int form = 0; form < 4; ++form) {
    try {
      if (form == 0) new T;
      if (form == 1) new T[3];
      if (form == 2) new (std::nothrow) T;
      if (form == 3) new (std::nothrow) T[3];
      CHECK(false);
    } catch (int thrown) {
      CHECK(thrown == 7);
    }
  }
  T::throws = false;
}

void all() {
  kinds<Thing<1, 1>>();
  kinds<Thing<8, 56>>();
  kinds<Thing<16, 1500>>();
  kinds<Thing<64, 64>>();
  kinds<Thing<256, 3000>>();
  kinds<Thing<4096, 10>>();
  kinds<Thing<16, 300000>>();
  Base* base = new Derived;
  delete base;
  std::pmr::vector<std::pmr::string> strings(std::pmr::new_delete_resource());
  for (int n = 0; n < 300; ++n) strings.emplace_back(static_cast<size_t>(n), 'x');
}

uint64_t live_bytes() {
  pktmalloc_statistics statistics;
  pktmalloc_get_statistics(&statistics, sizeof statistics);
  return statistics.allocated_bytes;
}

}  // namespace

int main() {
  all();  // and with it what the runtime keeps for itself
  const uint64_t before = live_bytes();
  for (int round = 0; round < 50; ++round) all();
  CHECK(alive == 0);
  CHECK(live_bytes() == before);
  void* const first = operator new(0);
  void* const second = operator new[](0);
  CHECK(first != second && first != nullptr && second != nullptr);
  operator delete(first);
  operator delete[](second);
  const volatile size_t huge = SIZE_MAX / 8;
  try {
    delete[] new Derived[huge];
    CHECK(false);
  } catch (const std::bad_alloc&) {  // or std::bad_array_new_length, which is one
  }
  try {
    operator new (100, std::align_val_t{48});  // no power of two
    CHECK(false);
  } catch (const std::bad_alloc&) {
  }
  CHECK(operator new (100, std::align_val_t{48}, std::nothrow) == nullptr);
  return 0;
}

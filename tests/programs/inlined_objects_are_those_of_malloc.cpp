// SPDX-License-Identifier: MIT
// What pktmalloc.hpp gives goes to free, realloc and malloc_usable_size, and the reverse; in the
// same thread and others, in forked children, in signal handlers' company, at every size.
#include <pktmalloc.hpp>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "check.h"

namespace {

// One size, by what pktmalloc.hpp has for it and by malloc in turn.
template <size_t kBytes, size_t kAlignment = 16>
void exchange() {
  constexpr size_t kObjects = kBytes > 20000 ? 40 : 600;
  std::vector<void*> objects(kObjects);
  for (size_t round = 0; round < 6; ++round) {
    for (size_t i = 0; i < kObjects; ++i) {
      void*& p = objects[i];
      if ((i + round) % 3 != 0) {
        p = pktmalloc::allocate<kBytes, kAlignment>();
      } else if (kAlignment > 16) {
        p = aligned_alloc(kAlignment, kBytes);
      } else {
        p = malloc(kBytes);
      }
      CHECK(p != nullptr && reinterpret_cast<size_t>(p) % (kBytes < 16 ? 8 : kAlignment) == 0);
      CHECK(malloc_usable_size(p) >= kBytes);
      memset(p, static_cast<int>(i), kBytes);
    }
    for (size_t i = 0; i < kObjects; ++i) {
      auto* bytes = static_cast<unsigned char*>(objects[i]);
      CHECK(bytes[0] == static_cast<unsigned char>(i));
      CHECK(bytes[kBytes - 1] == static_cast<unsigned char>(i));
      if ((i + round) % 7 == 0) objects[i] = realloc(objects[i], kBytes + i % 200);
      CHECK(objects[i] != nullptr);
      if ((i + round) % 2 == 0) {
        pktmalloc::release<kBytes, kAlignment>(objects[i]);
      } else {
        free(objects[i]);
      }
    }
  }
  // What another size's release gets.
  pktmalloc::release<kBytes, kAlignment>(malloc(kBytes * 3));
  pktmalloc::release<kBytes, kAlignment>(malloc(1000000));
  pktmalloc::release<kBytes, kAlignment>(nullptr);
  pktmalloc::release<kBytes * 2 + 100>(pktmalloc::allocate<kBytes, kAlignment>());
}

void all_sizes() {
  exchange<1, 1>();
  exchange<8, 8>();
  exchange<16>();
  exchange<24>();
  exchange<64>();
  exchange<64, 64>();
  exchange<100>();
  exchange<1500>();
  exchange<4096, 4096>();
  exchange<20000>();
  exchange<32768>();
  exchange<40000>();
  exchange<262144>();
  exchange<300000>();  // not pooled
}

void threads() {
  std::vector<std::thread> running;
  std::vector<void*> handed(4000);
  for (int t = 0; t < 4; ++t) running.emplace_back(all_sizes);
  for (std::thread& thread : running) thread.join();
  for (int round = 0; round < 20; ++round) {
    for (void*& p : handed) p = pktmalloc::allocate<192>();
    std::thread([&] {
      for (void* p : handed) pktmalloc::release<192>(p);
      for (void*& p : handed) p = pktmalloc::allocate<192>();
    }).join();
    for (void* p : handed) free(p);
  }
}

void children() {
  for (int n = 0; n < 10; ++n) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      exchange<64>();
      exchange<1500>();
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
}

struct alignas(64) Line : pktmalloc::pooled<Line> {
  explicit Line(int n) : number(n) {
    if (n < 0) throw n;
  }
  virtual ~Line() = default;
  int number;
};
struct Longer : Line {
  using Line::Line;
  char more[200];
};
struct alignas(256) Wider : Line {
  using Line::Line;
};

template <typename T>
void one_class() {
  for (int n = 0; n < 1000; ++n) {
    Line* line = new T(n);
    CHECK(reinterpret_cast<size_t>(line) % alignof(T) == 0 && line->number == n);
    delete line;
    line = new (std::nothrow) T(n);
    CHECK(line != nullptr && reinterpret_cast<size_t>(line) % alignof(T) == 0);
    delete line;
    try {
      new T(-1);
      CHECK(!"thrown");
    } catch (int) {
    }
    alignas(T) char memory[sizeof(T)];
    (new (memory) T(n))->~T();
    delete[] new T[2]{T(1), T(2)};
  }
}

void containers() {
  std::vector<int, pktmalloc::allocator<int>> vector;
  std::list<int, pktmalloc::allocator<int>> list;
  std::deque<int, pktmalloc::allocator<int>> deque;
  std::set<int, std::less<>, pktmalloc::allocator<int>> set;
  std::map<int, std::string, std::less<>, pktmalloc::allocator<std::pair<const int, std::string>>>
      map;
  std::unordered_map<int, int, std::hash<int>, std::equal_to<>,
                     pktmalloc::allocator<std::pair<const int, int>>>
      hash;
  for (int i = 0; i < 5000; ++i) {
    vector.push_back(i);
    list.push_back(i);
    deque.push_back(i);
    set.insert(i);
    map[i] = std::string(i % 100, 'x');
    hash[i] = i;
  }
  auto other = list;
  list.splice(list.end(), other);
  CHECK(list.size() == 10000 && set.size() == 5000 && hash.at(4321) == 4321 && deque[17] == 17);
  auto moved = std::move(vector);
  CHECK(moved.size() == 5000 && map.at(250).size() == 50);
  pktmalloc::allocator<char> bytes;
  const auto [p, count] = bytes.allocate_at_least(100);
  CHECK(count >= 100);
  memset(p, 1, count);
  bytes.deallocate(p, count);
  try {
    pktmalloc::allocator<int>().deallocate(pktmalloc::allocator<int>().allocate(SIZE_MAX / 4), 1);
    CHECK(!"thrown");
  } catch (const std::bad_array_new_length&) {
  }
  for (int i = 0; i < 1000; ++i) {
    auto unique = pktmalloc::make_unique<std::string>(200, 'u');
    auto shared = pktmalloc::make_shared<std::string>(300, 's');
    std::shared_ptr<std::string> from(std::move(unique));
    CHECK(from->size() == 200 && shared->size() == 300);
  }
  std::pmr::vector<std::pmr::string> strings(pktmalloc::resource());
  for (int i = 0; i < 1000; ++i) strings.emplace_back(100, 'p');
  CHECK(pktmalloc::resource()->is_equal(*pktmalloc::resource()));
}

void batches() {
  void* objects[100];
  CHECK(pktmalloc::allocate_batch(64, 100, objects) == 100);
  for (int i = 0; i < 50; ++i) pktmalloc::release<64>(objects[i]);
  pktmalloc::release_batch(objects + 50, 50);
  for (int i = 0; i < 100; ++i) objects[i] = pktmalloc::allocate<64>();
  pktmalloc::release_batch(objects, 100);
  CHECK(pktmalloc::allocate_batch(SIZE_MAX, 1, objects) == 0);
}

int handled = 0;

void no_memory() {
  std::set_new_handler([] {
    if (++handled == 3) std::set_new_handler(nullptr);
  });
  try {
    pktmalloc::allocator<char>().deallocate(pktmalloc::allocator<char>().allocate(size_t{1} << 60),
                                            1);
    CHECK(!"thrown");
  } catch (const std::bad_alloc&) {
  }
  CHECK(handled == 3);
}

// Addresses that were the library's may be others' from here on.
void fewer_addresses() {
  std::vector<void*> before(1000);
  for (void*& p : before) p = pktmalloc::allocate<64>();
  const rlimit limit{rlim_t{4} << 30, rlim_t{4} << 30};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  for (void* p : before) pktmalloc::release<64>(p);
  all_sizes();
}

}  // namespace

int main() {
  all_sizes();
  threads();
  children();
  one_class<Line>();
  one_class<Longer>();
  one_class<Wider>();
  containers();
  batches();
  no_memory();
  fewer_addresses();
  return 0;
}

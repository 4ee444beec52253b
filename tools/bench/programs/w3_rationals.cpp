// SPDX-License-Identifier: MIT
// W3: small rationals, two ints each. One thread.
//
// `w3_rationals [VARIANT [ROUNDS]]`: every round allocates 5,000 objects of 8 bytes into an array,
// then deletes them in order. "ms" is the time of all rounds.
//   new_delete  plain new and delete
//   free_list   class-specific operator new and delete: a free list through the objects that grows
//               by 32 objects at a time and is never given back
#include <string_view>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kObjects = 5'000;

struct Rational {
  Rational(int n, int d) : numerator(n), denominator(d) {}
  int numerator;
  int denominator;
};

struct ListedRational : Rational {
  using Rational::Rational;

  static void* operator new(std::size_t) {
    if (free_list == nullptr) grow();
    Link* link = free_list;
    free_list = link->next;
    return link;
  }

  static void operator delete(void* object) {
    Link* link = static_cast<Link*>(object);
    link->next = free_list;
    free_list = link;
  }

 private:
  static constexpr std::size_t kGrowth = 32;
  union Link {
    Link* next;
    char bytes[sizeof(Rational)];
  };

  static void grow() {
    Link* chunk = new Link[kGrowth];
    for (std::size_t i = 0; i < kGrowth; ++i)
      chunk[i].next = i + 1 < kGrowth ? &chunk[i + 1] : nullptr;
    free_list = chunk;
  }

  static inline Link* free_list = nullptr;
};

template <typename T>
double measure(std::size_t rounds) {
  std::vector<T*> objects(kObjects);
  workload::Stopwatch stopwatch;
  for (std::size_t round = 0; round < rounds; ++round) {
    int number = 0;
    for (T*& object : objects) {
      object = new T(number, number + 1);
      workload::keep(object);
      ++number;
    }
    for (T* object : objects) delete object;
  }
  return stopwatch.elapsed_ms();
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w3_rationals [new_delete|free_list [ROUNDS]]";
  std::string_view variant = argc > 1 ? argv[1] : "new_delete";
  if (variant != "new_delete" && variant != "free_list") workload::usage(usage);
  std::size_t rounds = workload::argument(argc, argv, 2, 10'000, usage);
  double ms = variant == "free_list" ? measure<ListedRational>(rounds) : measure<Rational>(rounds);
  workload::print_json(argc, argv, {{"ms", ms}});
}

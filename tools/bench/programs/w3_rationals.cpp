// SPDX-License-Identifier: MIT
// W3: small rationals, two ints each. One thread.
//
// `w3_rationals [VARIANT [ROUNDS]]`: every round allocates 5,000 objects of 8 bytes into an array,
// then deletes them in order. "ms" is the time of all rounds.
//   new_delete     plain new and delete
//   free_list      class-specific operator new and delete: a free list through the objects that
//                  grows by 32 objects at a time
//   template_pool  a pool object, fixed size, a template of the type
//   plain_pool     a pool object, fixed size, no template: the size is a variable
//   variable_pool  objects of all sizes in chunks that count what lives in them
//   locking_pool   template_pool behind a std::mutex
//   constant_pool  the sizes of the object and of the pool are constants; never grows
//   header         operator new and delete of pktmalloc.hpp, inlined
#include <algorithm>
#include <iterator>
#include <string_view>

#include "w3_rational.h"
#include "workload.h"

namespace {

double measure(const w3::Variant& variant, std::size_t rounds) {
  w3::Rationals objects(w3::kObjects);
  workload::Stopwatch stopwatch;
  for (std::size_t round = 0; round < rounds; ++round) {
    variant.make_all(objects);
    variant.delete_all(objects);
  }
  return stopwatch.elapsed_ms();
}

// Whether every object keeps its value while all are live.
bool values_are_kept(const w3::Variant& variant) {
  w3::Rationals objects(w3::kObjects);
  variant.make_all(objects);
  int number = 0;
  for (const w3::Rational* object : objects) {
    if (object->numerator != number || object->denominator != number + 1) return false;
    ++number;
  }
  variant.delete_all(objects);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage =
      "w3_rationals [new_delete|free_list|template_pool|plain_pool|variable_pool|locking_pool|"
      "constant_pool|header [ROUNDS]]";
  std::string_view name = argc > 1 ? argv[1] : "new_delete";
  auto variant = std::ranges::find(w3::kVariants, name, &w3::Variant::name);
  if (variant == std::end(w3::kVariants)) workload::usage(usage);
  std::size_t rounds = workload::argument(argc, argv, 2, 10'000, usage);

  double ms = measure(*variant, rounds);
  if (!values_are_kept(*variant)) workload::fail("two objects share memory");
  workload::print_json(argc, argv, {{"ms", ms}});
}

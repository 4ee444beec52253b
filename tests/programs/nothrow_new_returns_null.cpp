// SPDX-License-Identifier: MIT
// Also when the new-handler throws.
#include <cstdint>
#include <initializer_list>
#include <new>

#include "check.h"

namespace {

int calls = 0;

void throwing_handler() {
  ++calls;
  throw std::bad_alloc();
}

void all_forms(size_t huge) {
  CHECK(operator new(huge, std::nothrow) == nullptr);
  CHECK(operator new[](huge, std::nothrow) == nullptr);
  for (const size_t a : {8, 64, 4096, 4 << 20}) {
    CHECK(operator new (huge, std::align_val_t{a}, std::nothrow) == nullptr);
    CHECK(operator new[](huge, std::align_val_t{a}, std::nothrow) == nullptr);
  }
}

}  // namespace

int main() {
  const size_t sizes[] = {size_t{1} << 60, PTRDIFF_MAX, SIZE_MAX};
  for (const size_t huge : sizes) all_forms(huge);
  std::set_new_handler(throwing_handler);
  for (const size_t huge : sizes) all_forms(huge);
  CHECK(calls >= 3 * 2);
  return 0;
}

// SPDX-License-Identifier: MIT
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <vector>

#include "check.h"

namespace {

template <typename Function>
bool throws(Function&& function) {
  try {
    function();
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

}  // namespace

int main() {
  const size_t sizes[] = {size_t{1} << 60, PTRDIFF_MAX, SIZE_MAX - 4096, SIZE_MAX};
  for (const size_t huge : sizes) {
    CHECK(throws([&] { operator delete(operator new(huge)); }));
    CHECK(throws([&] { operator delete[](operator new[](huge)); }));
    for (const size_t a : {8, 64, 4096, 4 << 20}) {
      const std::align_val_t alignment{a};
      CHECK(throws([&] { operator delete(operator new(huge, alignment), alignment); }));
      CHECK(throws([&] { operator delete[](operator new[](huge, alignment), alignment); }));
    }
  }
  CHECK(throws([] { std::vector<char> v(size_t{1} << 60); }));
  CHECK(throws([] { std::string s(size_t{1} << 60, 'x'); }));
  // The process goes on as before.
  std::vector<std::string> strings(10000, std::string(100, 'x'));
  CHECK(strings.back().size() == 100);
  return 0;
}

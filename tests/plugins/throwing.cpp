// SPDX-License-Identifier: MIT
// Lets every form of operator new fail, in a program that is in C.
#include <cstddef>
#include <new>

namespace {

int handler_calls = 0;

void handler() {
  if (++handler_calls == 3) std::set_new_handler(nullptr);
}

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

extern "C" int failing_news_do_what_cxx_demands() {
  volatile std::size_t huge = std::size_t{1} << 60;
  const auto alignment = std::align_val_t{128};
  if (!throws([&] { operator delete(operator new(huge)); })) return 1;
  if (!throws([&] { operator delete[](operator new[](huge)); })) return 2;
  if (!throws([&] { operator delete(operator new(huge, alignment), alignment); })) return 3;
  if (!throws([&] { operator delete[](operator new[](huge, alignment), alignment); })) return 4;
  if (operator new(huge, std::nothrow) != nullptr) return 5;
  if (operator new[](huge, std::nothrow) != nullptr) return 6;
  if (operator new(huge, alignment, std::nothrow) != nullptr) return 7;
  if (operator new[](huge, alignment, std::nothrow) != nullptr) return 8;
  handler_calls = 0;
  std::set_new_handler(handler);
  if (!throws([&] { operator delete(operator new(huge)); })) return 9;
  return handler_calls == 3 ? 0 : 10;
}

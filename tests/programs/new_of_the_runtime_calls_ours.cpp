// SPDX-License-Identifier: MIT
// The C++ runtime's own operator new[] calls operator new, and that is ours. So it comes to pass
// when ours was refused and memory is there again. What it returns delete[] frees.
#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "check.h"

namespace {

constexpr std::size_t kSizes[] = {1, 100, 5000, 7 << 20};

template <typename Function>
Function of_the_runtime(const char* name) {
  static void* const runtime = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD);
  CHECK(runtime != nullptr);
  const auto function = reinterpret_cast<Function>(dlsym(runtime, name));
  CHECK(function != nullptr);
  return function;
}

void* written(void* object, std::size_t bytes) {
  CHECK(object != nullptr);
  return std::memset(object, 1, bytes);
}

}  // namespace

int main() {
  const auto make_or_not =
      of_the_runtime<void* (*)(std::size_t, const std::nothrow_t&)>("_ZnamRKSt9nothrow_t");
  for (const std::size_t bytes : kSizes) {
    operator delete[](written(make_or_not(bytes, std::nothrow), bytes), std::nothrow);
  }
}

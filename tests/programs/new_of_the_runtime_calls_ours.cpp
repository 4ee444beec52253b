// SPDX-License-Identifier: MIT
// When operator new[] is refused, the C++ runtime's own calls operator new, and that is ours. By
// then memory may be there again: here whoever looks for the runtime, and so closes it, lets some
// go. What comes of it delete[] frees. Nothing to see without PKTMALLOC_LIMIT.
#include <stdlib.h>

#include <new>

#include "check.h"

namespace {

constexpr size_t kBytes = size_t{10} << 20;  // two of them are beyond the limit
constexpr std::align_val_t kAlignment{1024};
void* held = nullptr;

// Refused at first: another one of its size is held.
template <typename... How>
void* made(const How&... how) {
  CHECK((held = malloc(kBytes)) != nullptr);
  void* const object = operator new[](kBytes, how...);
  CHECK(object != nullptr);
  CHECK((held == nullptr) == (getenv("PKTMALLOC_LIMIT") != nullptr));
  free(held);
  return object;
}

}  // namespace

extern "C" int dlclose(void*) {
  free(held);
  held = nullptr;
  return 0;
}

int main() {
  operator delete[](made());
  operator delete[](made(std::nothrow), std::nothrow);
  operator delete[](made(kAlignment), kAlignment);
  operator delete[](made(kAlignment, std::nothrow), kAlignment, std::nothrow);
}

// SPDX-License-Identifier: MIT
// What aligned operator new gets once the new-handler has found memory is deleted with the size
// that was asked for; the C++ runtime may have asked malloc for more. Nothing to see without
// PKTMALLOC_LIMIT.
#include <stdlib.h>

#include <new>

#include "check.h"

namespace {

constexpr size_t kBytes = 3000;
constexpr size_t kMost = 8000;
constexpr std::align_val_t kAlignment{1024};
void* held[kMost];
size_t count = 0;

void let_ten_go() {
  CHECK(count >= 10);
  for (int i = 0; i < 10; ++i) free(held[--count]);
}

}  // namespace

int main() {
  while (count < kMost && (held[count] = aligned_alloc(1024, kBytes)) != nullptr) ++count;
  if (getenv("PKTMALLOC_LIMIT") == nullptr) return 0;
  CHECK(count < kMost);
  const size_t before = count;
  std::set_new_handler(let_ten_go);
  void* const plain = operator new(kBytes, kAlignment);
  void* const array = operator new[](kBytes, kAlignment);
  CHECK(count < before);
  operator delete(plain, kBytes, kAlignment);
  operator delete[](array, kBytes, kAlignment);
  return 0;
}

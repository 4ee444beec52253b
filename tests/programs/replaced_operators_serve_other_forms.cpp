// SPDX-License-Identifier: MIT
// A program that replaces some operators: by the standard all other forms of new and delete call
// those. They put a head before each object, so whatever passes them by is found.
#include <cstddef>
#include <cstdlib>
#include <new>

#include "check.h"

namespace {

using std::align_val_t;
using std::nothrow;

constexpr std::size_t kHead = 64;
constexpr align_val_t kAlignment{kHead};
enum Kind : std::size_t { kSingle, kArray, kAligned };
std::size_t live[3];
bool refuses = false;

void* with_head(Kind kind, std::size_t bytes) {
  if (refuses) throw std::bad_alloc();
  char* const begin = static_cast<char*>(aligned_alloc(kHead, kHead + bytes));
  CHECK(begin != nullptr);
  *reinterpret_cast<std::size_t*>(begin) = 0xfeed + kind;
  ++live[kind];
  return begin + kHead;
}

void without_head(Kind kind, void* p) {
  if (p == nullptr) return;
  char* const begin = static_cast<char*>(p) - kHead;
  CHECK(*reinterpret_cast<std::size_t*>(begin) == 0xfeed + kind);
  --live[kind];
  free(begin);
}

void* is_a(Kind kind, void* p) {
  CHECK(p != nullptr && live[kind] == 1 && live[kSingle] + live[kArray] + live[kAligned] == 1);
  return p;
}

}  // namespace

#pragma GCC diagnostic ignored "-Wsized-deallocation"  // that is what is tested
void* operator new(std::size_t bytes) { return with_head(kSingle, bytes); }
void operator delete(void* p) noexcept { without_head(kSingle, p); }
void* operator new(std::size_t bytes, align_val_t) { return with_head(kAligned, bytes); }
void operator delete(void* p, align_val_t) noexcept { without_head(kAligned, p); }
#ifdef REPLACES_ARRAYS
void* operator new[](std::size_t bytes) { return with_head(kArray, bytes); }
void operator delete[](void* p) noexcept { without_head(kArray, p); }
constexpr Kind kOfArrays = kArray;
#else
constexpr Kind kOfArrays = kSingle;
#endif

int main() {
  for (std::size_t n = 0; n < 1 << 20; n = n * 2 + 1) {
    operator delete(is_a(kSingle, operator new(n)));
    operator delete(is_a(kSingle, operator new(n)), n);
    operator delete(is_a(kSingle, operator new(n, nothrow)), nothrow);
    operator delete[](is_a(kOfArrays, operator new[](n)));
    operator delete[](is_a(kOfArrays, operator new[](n)), n);
    operator delete[](is_a(kOfArrays, operator new[](n, nothrow)), nothrow);
    operator delete(is_a(kAligned, operator new(n, kAlignment)), kAlignment);
    operator delete(is_a(kAligned, operator new(n, kAlignment)), n, kAlignment);
    operator delete(is_a(kAligned, operator new(n, kAlignment, nothrow)), kAlignment, nothrow);
    operator delete[](is_a(kAligned, operator new[](n, kAlignment)), kAlignment);
    operator delete[](is_a(kAligned, operator new[](n, kAlignment)), n, kAlignment);
    operator delete[](is_a(kAligned, operator new[](n, kAlignment, nothrow)), kAlignment, nothrow);
  }
  refuses = true;
  CHECK(operator new(1, nothrow) == nullptr&& operator new[](1, nothrow) == nullptr);
  CHECK(operator new(1, kAlignment, nothrow) == nullptr);
  CHECK(operator new[](1, kAlignment, nothrow) == nullptr);
}

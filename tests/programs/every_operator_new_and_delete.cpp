// SPDX-License-Identifier: MIT
#include <cstdint>
#include <new>

#include "check.h"
#include "interface.h"
#include "pattern.h"

namespace {

using std::align_val_t;
using std::nothrow;

// What stands behind us may have forms of its own.
bool nothrow_new = true;

void* ours(void* p, size_t bytes, size_t alignment = 16) {
  CHECK(p != nullptr);
  CHECK(reinterpret_cast<uintptr_t>(p) % alignment == 0);
  CHECK(bytes > 100000 || pktmalloc_class_bytes(p) >= bytes);
  write_pattern(p, bytes, bytes);
  return p;
}

void plain(size_t n) {
  operator delete(ours(operator new(n), n));
  operator delete(ours(operator new(n), n), n);
  operator delete(ours(nothrow_new ? operator new(n, nothrow) : operator new(n), n), nothrow);
  operator delete[](ours(operator new[](n), n));
  operator delete[](ours(operator new[](n), n), n);
  operator delete[](ours(nothrow_new ? operator new[](n, nothrow) : operator new[](n), n), nothrow);
  operator delete(nullptr);
  operator delete[](nullptr);
}

void aligned(size_t n, size_t a) {
  const align_val_t v{a};
  operator delete(ours(operator new(n, v), n, a), v);
  operator delete(ours(operator new(n, v), n, a), n, v);
  operator delete(ours(nothrow_new ? operator new(n, v, nothrow) : operator new(n, v), n, a), v,
                  nothrow);
  operator delete[](ours(operator new[](n, v), n, a), v);
  operator delete[](ours(operator new[](n, v), n, a), n, v);
  operator delete[](ours(nothrow_new ? operator new[](n, v, nothrow) : operator new[](n, v), n, a),
                    v, nothrow);
  operator delete(nullptr, v);
  operator delete[](nullptr, v);
}

}  // namespace

// With an argument no nothrow new.
int main(int argc, char**) {
  nothrow_new = argc < 2;
  for (int round = 0; round < 3; ++round) {
    for (size_t n = 0; n < 5 << 20; n = n * 3 / 2 + 1) {
      plain(n);
      for (size_t a = 1; a <= 1 << 16; a *= 4) aligned(n, a);
    }
  }
  return 0;
}

// SPDX-License-Identifier: MIT
// Registers an unwind table while it runs, as compilers in memory do. At the next exception or
// walk the unwinder sorts what is registered: it allocates and, in the end, frees with a lock held
// that every walk takes.
#include <unwind.h>

#include <cstdint>

#include "check.h"

extern "C" void __register_frame(void*);
extern "C" void __deregister_frame(void*);

namespace {

alignas(8) unsigned char code[64];  // never run

struct [[gnu::packed]] Table {
  uint32_t common_bytes = 16, common_id = 0;
  unsigned char common[12] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0};
  uint32_t frame_bytes = 20, frame_common = 24;
  uint64_t begin = reinterpret_cast<uint64_t>(code), bytes = sizeof code;
  uint32_t end = 0;
};

void throws(int n) {
  if (n == 0) throw 7;
  throws(n - 1);
}

}  // namespace

int main() {
  static Table tables[3];
  for (Table& table : tables) {
    __register_frame(&table);
    _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_NO_REASON; }, nullptr);
    int caught = 0;
    try {
      throws(3);
    } catch (int what) {
      caught = what;
    }
    CHECK(caught == 7);
  }
  for (Table& table : tables) __deregister_frame(&table);
  return 0;
}

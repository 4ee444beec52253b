// SPDX-License-Identifier: MIT
// One thread; after the peak it only asks for blocks that no class serves, and frees none.
#include "peak.h"

static void ask_for_large_blocks(void) {
  for (int i = 0; i < 10; ++i) {
    CHECK(malloc(300000) != NULL);
    sleep_ms(10);
  }
}

int main(void) {
  peak_part(0, kPeakObjects);
  end_peak_part(0, kPeakObjects);
  wait_for_little_memory(ask_for_large_blocks);
  return 0;
}

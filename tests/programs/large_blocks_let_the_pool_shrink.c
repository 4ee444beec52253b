// SPDX-License-Identifier: MIT
// One thread; after the peak it only asks for blocks that no class serves.
#include "peak.h"

static void ask_for_large_blocks(void) {
  for (int i = 0; i < 10; ++i) {
    void* const block = malloc(300000);
    CHECK(block != NULL);
    sleep_ms(10);
    free(block);
  }
}

int main(void) {
  peak_part(0, kPeakObjects);
  end_peak_part(0, kPeakObjects);
  wait_for_little_memory(ask_for_large_blocks);
  return 0;
}

// SPDX-License-Identifier: MIT
// Objects of random sizes come and go, first more, then fewer, then nearly as many again. Prints
// how many of each size were live when the sum of their bytes was highest, and how often each was
// requested: size, calls, objects.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

enum { kSlots = 4000, kSteps = 100000, kLeast = 20000, kSizes = 500 };

static void* slots[kSlots];
static int size_of[kSlots];
static int calls[kSizes], live[kSizes], at_peak[kSizes];

int main(void) {
  uint64_t random = 7;
  size_t total = 0;
  size_t peak = 0;
  for (int step = 0; step < kSteps; ++step) {
    // Out of 16 steps that would allocate, so many do.
    const unsigned wish = step < kSteps / 3 ? 14 : step < 2 * kSteps / 3 ? 3 : 13;
    const uint64_t slot = next_random(&random) % kSlots;
    const int size = (int)(next_random(&random) % kSizes);
    if (slots[slot] != NULL) {
      free(slots[slot]);
      slots[slot] = NULL;
      --live[size_of[slot]];
      total -= (size_t)(kLeast + size_of[slot]);
    }
    if (next_random(&random) % 16 >= wish) continue;
    CHECK((slots[slot] = malloc((size_t)(kLeast + size))) != NULL);
    size_of[slot] = size;
    ++calls[size];
    ++live[size];
    total += (size_t)(kLeast + size);
    if (total <= peak) continue;
    peak = total;
    memcpy(at_peak, live, sizeof at_peak);
  }
  for (int i = 0; i < kSizes; ++i) printf("%d %d %d\n", kLeast + i, calls[i], at_peak[i]);
  return 0;
}

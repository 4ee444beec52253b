// SPDX-License-Identifier: MIT
#include "sizeclass/base/misuse.h"

#include <cstdlib>

namespace pktmalloc {

void report_misuse(Misuse misuse, uintptr_t pointer, size_t object_bytes) {
  if (misuse_handler != nullptr) misuse_handler(misuse, pointer, object_bytes);
  abort();
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "sizeclass/base/misuse.h"

#include <cstdlib>

namespace pktmalloc {
namespace {
MisuseHandler handler_in_use = nullptr;
}

void set_misuse_handler(MisuseHandler handler) { handler_in_use = handler; }

void report_misuse(Misuse misuse, uintptr_t pointer, size_t object_bytes) {
  if (handler_in_use != nullptr) handler_in_use(misuse, pointer, object_bytes);
  abort();
}

}  // namespace pktmalloc

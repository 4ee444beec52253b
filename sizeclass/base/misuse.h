// SPDX-License-Identifier: MIT
// What the engine does with a pointer that cannot be right: it calls the handler and never returns.
// The engine prints nothing; the handler does, and must not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace pktmalloc {

enum class Misuse : uint8_t {
  kFreedAgain,   // the object is already free, and the present call frees it
  kDoubleFree,   // the same, by the present call or an earlier one
  kNotAnObject,  // among units, but not at the start of an object; likewise
};

using MisuseHandler = void (*)(Misuse, uintptr_t pointer, size_t object_bytes);

// Set once at start, before the first drain. Without one the engine aborts silently.
inline constinit MisuseHandler misuse_handler = nullptr;

[[noreturn]] inline void report_misuse(Misuse misuse, uintptr_t pointer, size_t object_bytes) {
  if (misuse_handler != nullptr) misuse_handler(misuse, pointer, object_bytes);
  abort();
}

}  // namespace pktmalloc

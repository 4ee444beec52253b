// SPDX-License-Identifier: MIT
// Demangler: C++ names as in the source, by the C++ runtime that the process has anyway.
//
// The runtime allocates and needs 128 KiB of stack. So it is asked only where both may be had; else
// a name is the linker's (for c++filt).
#pragma once

#include <cstddef>

namespace pktmalloc {

class Demangler {
 public:
  // Off: every name stays as it is.
  explicit Demangler(bool on);

  // Cut to fit.
  void write(const char* name, char* out, size_t bytes) const;

 private:
  char* (*demangle_)(const char*, char*, size_t*, int*) = nullptr;
};

}  // namespace pktmalloc

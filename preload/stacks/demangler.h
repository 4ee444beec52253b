// SPDX-License-Identifier: MIT
// Demangler: C++ names as they are in the source, by the C++ runtime that the process has anyway.
//
// That one allocates and wants room on the stack. So it is asked only when the program is about to
// be aborted, where nobody is left to be disturbed, and only on a stack that has the room; a report
// after which the program goes on has the names as the linker knows them (for c++filt).
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

// SPDX-License-Identifier: MIT
// Opens libraries itself. Its RUNPATH is the folder that it lies in.
#include <dlfcn.h>

// No tail call: the caller of dlopen is to be this library.
extern "C" void* open_library(const char* name, int flags) {
  void* volatile library = dlopen(name, flags);
  return library;
}

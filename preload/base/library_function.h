// SPDX-License-Identifier: MIT
// Library function: one that is found in a loaded library, by its name.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

#include "sizeclass/base/machine.h"

namespace pktmalloc {

// False, and nothing has changed, if the library has none of that name.
template <typename Function>
bool find_function(Function& function, void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found != nullptr) function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

// In a C++ runtime that is loaded, perhaps not in the global scope: a plugin of a C program. Else
// the next one of that name.
template <typename Function>
bool find_in_runtime(Function& function, const char* name) {
  for (const char* const file : {"libstdc++.so.6", "libc++abi.so.1"}) {
    void* const runtime = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (runtime == nullptr) continue;
    dlclose(runtime);  // only undoes the count that dlopen took
    if (find_function(function, runtime, name)) return true;
  }
  return find_function(function, RTLD_NEXT, name);
}

// libc's own, by its version, which no wrapper has. nullptr: libc has none such, or the program is
// linked with -static.
template <typename Function>
Function find_in_libc(const char* name, const char* version = machine::kFirstLibc) {
  return reinterpret_cast<Function>(dlvsym(RTLD_NEXT, name, version));
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// Library function: one that is found in a loaded library, by its name.
#pragma once

#include <dlfcn.h>

namespace pktmalloc {

// False, and nothing has changed, if the library has none of that name.
template <typename Function>
bool find_function(Function& function, void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found != nullptr) function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

}  // namespace pktmalloc

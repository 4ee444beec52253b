// SPDX-License-Identifier: MIT
#include "tools/command/text/demangled.h"

#define HAVE_DECL_BASENAME 1  // else it declares that anew
#include <libiberty/demangle.h>

#include <cstdlib>

namespace pktmalloc {

std::string demangled(std::string name) {
  // Its version, and what LLVM makes names unique with.
  for (const char* suffix : {"@", ".llvm.", ".__uniq."}) name = name.substr(0, name.find(suffix));
  // To the demangler, f of C might be one of an older C++.
  if (!name.starts_with("_Z") && !name.starts_with("_R")) return name;
  char* const text = cplus_demangle(name.c_str(), DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
  if (text != nullptr) name = text;
  free(text);
  return name;
}

}  // namespace pktmalloc

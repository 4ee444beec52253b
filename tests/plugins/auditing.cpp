// SPDX-License-Identifier: MIT
// For LD_AUDIT: the loader puts it into a namespace of its own, with a libc and a malloc of its
// own, and calls it at every library and every symbol that is bound.
#include <link.h>

#include <cstdlib>
#include <cstring>

extern "C" {

unsigned la_version(unsigned version) { return version; }

unsigned la_objopen(link_map* map, Lmid_t, uintptr_t*) {
  char* copy = strdup(map->l_name);  // allocates in its own world
  free(copy);
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, uintptr_t*, uintptr_t*, unsigned*,
                       const char*) {
  free(malloc(100));
  return symbol->st_value;
}
}

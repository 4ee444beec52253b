// SPDX-License-Identifier: MIT
// A program that defines dlopen sees every call first, with all flags. The next one is the
// library's, and in a program that is linked with the archive libc's.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>

#include "interface.h"
#include "plugin.h"

static int seen_flags;

void* dlopen(const char* name, int flags) {
  seen_flags = flags;
  void* (*next)(const char*, int) = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
  CHECK(next != NULL);
  return next(name, flags);
}

int main(void) {
  void* plugin = load_plugin("plain", RTLD_LAZY | RTLD_DEEPBIND);
  CHECK(seen_flags == (RTLD_LAZY | RTLD_DEEPBIND));
  Dl_info library = {0};
  CHECK(dladdr(dlsym(RTLD_NEXT, "dlopen"), &library) != 0);
  const int takes_flag = strstr(library.dli_fname, "libpktmalloc") != NULL;
  void* (*allocate)(size_t) = (void* (*)(size_t))dlsym(plugin, "allocate");
  CHECK(allocate != NULL);
  void* p = allocate(1000);
  CHECK(p != NULL && (pktmalloc_class_bytes(p) != 0) == takes_flag);
  free(p);  // either is found
  return 0;
}

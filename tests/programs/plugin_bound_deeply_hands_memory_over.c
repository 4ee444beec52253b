// SPDX-License-Identifier: MIT
// RTLD_DEEPBIND: the plugin finds our malloc and operator new all the same. What it and the program
// hand to each other is ours, whoever frees it.
#include <malloc.h>
#include <stdlib.h>

#include "interface.h"
#include "pattern.h"
#include "plugin.h"

static void* plugin;

static void* function(const char* name) {
  void* found = dlsym(plugin, name);
  CHECK(found != NULL);
  return found;
}

static void* given(void* p, size_t bytes) {
  CHECK(p != NULL && (pktmalloc_class_bytes(p) != 0) == (bytes <= 256 << 10));
  write_pattern(p, bytes, bytes);
  return p;
}

int main(void) {
  plugin = load_plugin("plain", RTLD_NOW | RTLD_DEEPBIND);
  void* (*allocate)(size_t) = (void* (*)(size_t))function("allocate");
  void* (*reallocate)(void*, size_t) = (void* (*)(void*, size_t))function("reallocate");
  void (*release)(void*) = (void (*)(void*))function("release");
  void* (*make)(size_t) = (void* (*)(size_t))function("make");
  void (*destroy)(void*) = (void (*)(void*))function("destroy");
  for (size_t bytes = 8; bytes < 4 << 20; bytes += bytes / 5 + 3) {
    void* p = realloc(given(allocate(bytes), bytes), bytes + 1000);
    CHECK(p != NULL && has_pattern(p, bytes, bytes));
    free(p);
    p = reallocate(given(malloc(bytes), bytes), bytes + 1000);
    CHECK(p != NULL && has_pattern(p, bytes, bytes));
    release(p);
    release(memalign(64, bytes));
    destroy(given(make(bytes), bytes));
  }
  return 0;
}

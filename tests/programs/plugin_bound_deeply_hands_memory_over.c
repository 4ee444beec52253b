// SPDX-License-Identifier: MIT
// RTLD_DEEPBIND: the plugin finds libc's malloc before ours. What it gives to the program is
// foreign to us and goes back to where it came from; what it keeps to itself never meets us.
#include <malloc.h>
#include <stdlib.h>

#include "interface.h"
#include "pattern.h"
#include "plugin.h"

int main(void) {
  void* plugin = load_plugin("plain", RTLD_NOW | RTLD_DEEPBIND);
  void* (*allocate)(size_t) = (void* (*)(size_t))dlsym(plugin, "allocate");
  void (*release)(void*) = (void (*)(void*))dlsym(plugin, "release");
  CHECK(allocate != NULL && release != NULL);
  int foreign = 0;
  for (size_t bytes = 8; bytes < 4 << 20; bytes += bytes / 5 + 3) {
    void* own = allocate(bytes);
    void* given = allocate(bytes);
    CHECK(own != NULL && given != NULL);
    foreign += pktmalloc_class_bytes(given) == 0;
    CHECK(malloc_usable_size(given) >= bytes);
    write_pattern(given, bytes, bytes);
    given = realloc(given, bytes + 1000);
    CHECK(given != NULL && has_pattern(given, bytes, bytes));
    free(given);
    free(allocate(bytes));
    release(own);
  }
  CHECK(foreign > 20);
  return 0;
}

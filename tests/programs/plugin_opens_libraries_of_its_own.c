// SPDX-License-Identifier: MIT
// dlopen searches where its caller says: by the RUNPATH of a plugin, or relative to the folder that
// the plugin lies in, it finds what the program cannot find.
#include "plugin.h"

static const char* const names[] = {"plain.so", "$ORIGIN/plain.so"};

static void nothing_for_the_program(void) {
  for (int i = 0; i < 2; ++i) CHECK(dlopen(names[i], RTLD_NOW) == NULL);
}

int main(void) {
  nothing_for_the_program();
  void* plugin = load_plugin("opening", RTLD_NOW);
  void* (*open)(const char*, int) = (void* (*)(const char*, int))dlsym(plugin, "open_library");
  CHECK(open != NULL);
  const int flags[] = {0, RTLD_DEEPBIND, RTLD_GLOBAL};
  for (int i = 0; i < 6; ++i) {
    void* library = open(names[i % 2], RTLD_NOW | flags[i / 2]);
    if (library == NULL) dprintf(2, "%s\n", dlerror());
    CHECK(library != NULL && dlsym(library, "allocate") != NULL);
    CHECK(dlclose(library) == 0);
    nothing_for_the_program();
  }
  return 0;
}

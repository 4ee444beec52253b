// SPDX-License-Identifier: MIT
// Handles, errors and flags, but for RTLD_DEEPBIND, are those of libc's dlopen.
#define _GNU_SOURCE
#include <stdlib.h>

#include "plugin.h"

typedef void* Open(const char*, int);

static const struct {
  const char* name;
  int flags;
} calls[] = {
    {NULL, RTLD_NOW},
    {"", RTLD_LAZY},
    {"libc.so.6", RTLD_NOW},
    {"libc.so.6", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL},
    {"libc.so.6", RTLD_NOW | RTLD_NOLOAD | RTLD_DEEPBIND},
    {"libpthread.so.0", RTLD_LAZY | RTLD_NODELETE},
    {"libno.so", RTLD_NOW},
    {"/no/folder/lib.so", RTLD_LAZY | RTLD_DEEPBIND},
    {"/dev/null", RTLD_NOW},
    {"libc.so.6", 0},
    {"libc.so.6", RTLD_DEEPBIND},
    {"libc.so.6", RTLD_GLOBAL},
    {"librt.so.1", RTLD_NOW | RTLD_NOLOAD},
};

// What the call answers: a handle, or NULL and a copy of the error.
static void* answer(Open* open, int i, char** error) {
  void* handle = open(calls[i].name, calls[i].flags);
  const char* told = dlerror();
  CHECK((handle == NULL) == (told != NULL) || (calls[i].flags & RTLD_NOLOAD) != 0);
  *error = told != NULL ? strdup(told) : NULL;
  return handle;
}

static void* symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

int main(void) {
  // The first call fails: nothing that it had to do before is in the error.
  CHECK(dlopen("libfirst.so", RTLD_NOW) == NULL);
  const char* error = dlerror();
  CHECK(error != NULL && strstr(error, "libfirst.so: cannot open shared object file") == error);
  CHECK(dlerror() == NULL);

  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  Open* of_libc = (Open*)dlsym(libc, "dlopen");
  CHECK(of_libc != NULL && of_libc != dlopen);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    char *expected, *told;
    void* handle = answer(of_libc, (int)i, &expected);
    const int same = handle == answer(dlopen, (int)i, &told);
    if (!same) dprintf(2, "call %zu\n", i);
    CHECK(same && (told == NULL) == (expected == NULL));
    CHECK(told == NULL || strcmp(told, expected) == 0);
    free(expected);
    free(told);
  }

  void* local = load_plugin("plain", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  CHECK(symbol("allocate") == NULL);
  CHECK(dlclose(local) == 0);
  void* global = load_plugin("plain", RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND);
  CHECK(symbol("allocate") == dlsym(global, "allocate") && symbol("allocate") != NULL);
  return 0;
}

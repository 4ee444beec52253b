// SPDX-License-Identifier: MIT
// Small libraries that programs load; tests/plugins, built beside the programs.
#pragma once

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static inline void* load_plugin(const char* name, int flags) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  CHECK(length > 0);
  path[length] = '\0';
  *strrchr(path, '/') = '\0';
  char* folder = strrchr(path, '/');
  snprintf(folder, sizeof path - (size_t)(folder - path), "/plugins/%s.so", name);
  void* plugin = dlopen(path, flags);
  if (plugin == NULL) dprintf(2, "%s\n", dlerror());
  CHECK(plugin != NULL);
  return plugin;
}

// SPDX-License-Identifier: MIT
// Preloaded behind the library: its constructor runs before that of the library and opens another
// one, and it has a dlopen of its own, which tells of each call.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

extern "C" void* dlopen(const char* name, int flags) noexcept {
  dprintf(2, "%s, flags %#x\n", name, flags);
  const auto next = reinterpret_cast<decltype(&dlopen)>(dlsym(RTLD_NEXT, "dlopen"));
  return next(name, flags);
}

__attribute__((constructor)) static void on_load() {
  void* plain = dlopen("$ORIGIN/plain.so", RTLD_NOW | RTLD_DEEPBIND);
  const auto release = reinterpret_cast<void (*)(void*)>(dlsym(plain, "release"));
  release(malloc(1000));
}

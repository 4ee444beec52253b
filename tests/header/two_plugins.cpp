// SPDX-License-Identifier: MIT
// `two_plugins FIRST SECOND`: loads two plugins, has each release what the other, itself and malloc
// gave, and prints of each whether it inlines. Unloads and loads them again, too.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

struct Plugin {
  void* library;
  void* (*allocate)();
  void (*release)(void*);
  int (*inlines)();
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) abort();
}

Plugin load(const char* path) {
  Plugin plugin{};
  plugin.library = dlopen(path, RTLD_NOW);
  if (plugin.library == nullptr) {
    std::puts(dlerror());
    std::exit(1);
  }
  find(plugin.library, "allocate", plugin.allocate);
  find(plugin.library, "release", plugin.release);
  find(plugin.library, "inlines", plugin.inlines);
  return plugin;
}

void exchange(const Plugin& a, const Plugin& b) {
  std::vector<void*> objects(3000);
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < objects.size(); ++i) {
      objects[i] = i % 3 == 0 ? a.allocate() : i % 3 == 1 ? b.allocate() : std::malloc(64);
      std::memcpy(objects[i], &i, sizeof i);
    }
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (std::memcmp(objects[i], &i, sizeof i) != 0) abort();
      (i % 5 < 2 ? a.release : i % 5 < 4 ? b.release : std::free)(objects[i]);
    }
  }
}

}  // namespace

int main(int, char** argv) {
  for (int round = 0; round < 3; ++round) {
    const Plugin a = load(argv[1]), b = load(argv[2]);
    exchange(a, b);
    std::thread(exchange, a, b).join();
    if (round == 2) std::printf("%d %d\n", a.inlines(), b.inlines());
    dlclose(a.library);
    dlclose(b.library);
  }
}

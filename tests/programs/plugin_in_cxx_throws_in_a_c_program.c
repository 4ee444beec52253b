// SPDX-License-Identifier: MIT
// The C++ runtime arrives with the plugin, outside of the global scope.
#include <stdlib.h>

#include "plugin.h"

int main(void) {
  for (int i = 0; i < 4; ++i) {
    void* plugin = load_plugin("throwing", RTLD_NOW | (i % 2 == 0 ? RTLD_DEEPBIND : RTLD_LOCAL));
    int (*run)(void) = (int (*)(void))dlsym(plugin, "failing_news_do_what_cxx_demands");
    CHECK(run != NULL);
    CHECK(run() == 0);
    dlclose(plugin);
  }
  return 0;
}

// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdlib.h>

#include "plugin.h"
#include "resident.h"

static void* touch_in_thread(void* touch) {
  CHECK(((int (*)(void))touch)() >= 1000);
  return NULL;
}

static void round_trip(int flags) {
  void* plugin = load_plugin("churning", flags);
  void* touch = dlsym(plugin, "touch");
  CHECK(touch != NULL);
  touch_in_thread(touch);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, touch_in_thread, touch) == 0);
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  dlclose(plugin);
}

int main(void) {
  for (int i = 0; i < 20; ++i) round_trip(RTLD_NOW | RTLD_LOCAL);
  const double before = resident_mib();
  for (int i = 0; i < 40; ++i) round_trip(i % 2 == 0 ? RTLD_LAZY : RTLD_NOW);
  // The main thread's own object, which keeps the plugin loaded, grows by 90 MiB.
  CHECK(resident_mib() - before < 150);
  return 0;
}

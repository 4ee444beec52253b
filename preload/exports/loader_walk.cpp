// SPDX-License-Identifier: MIT
// dl_iterate_phdr, which calls the program while it holds a lock of the loader. A thread that is
// started then waits for another of its locks, which a dlopen in a third thread may hold while it
// waits for the first. So a call of malloc from there starts no thread of ours (own_thread.h).
//
// Not in the archive: in a program linked with -static there is no next one. Weak, because a
// program may have its own.
#include <dlfcn.h>
#include <link.h>

#include <atomic>

#include "preload/base/export.h"
#include "preload/base/own_thread.h"
#include "sizeclass/base/raised.h"

namespace {

using namespace pktmalloc;
using Visit = int (*)(dl_phdr_info*, size_t, void*);
using Walk = int (*)(Visit, void*);

constinit std::atomic<Walk> next_walk = nullptr;

// At load, lest dlsym's lock be asked for under locks of the program.
__attribute__((constructor(101))) void find_next_walk() {
  void* const found = dlsym(RTLD_NEXT, "dl_iterate_phdr");
  next_walk.store(reinterpret_cast<Walk>(found), std::memory_order_relaxed);
}

}  // namespace

extern "C" [[gnu::weak]] PKTMALLOC_EXPORT int dl_iterate_phdr(Visit visit, void* data) {
  if (next_walk.load(std::memory_order_relaxed) == nullptr) find_next_walk();
  const Walk next = next_walk.load(std::memory_order_relaxed);
  // An exception that leaves by here lets the flag stand: then this thread starts none of ours.
  const Raised walking(walks_loader);
  return next != nullptr ? next(visit, data) : 0;
}

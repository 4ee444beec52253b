// SPDX-License-Identifier: MIT
// dl_iterate_phdr, which calls the program while it holds a lock of the loader. A thread that is
// started then waits for another of its locks, which a dlopen in a third thread may hold while it
// waits for the first. So a call of malloc from there starts no thread of ours (own_thread.h).
//
// Not in the archive: in a program linked with -static there is no next one. Weak, because a
// program may have its own.
#include <link.h>

#include "preload/base/export.h"
#include "preload/base/library_function.h"
#include "preload/base/own_thread.h"
#include "sizeclass/base/raised.h"

namespace {

using namespace pktmalloc;
using Visit = int (*)(dl_phdr_info*, size_t, void*);
using Walk = int (*)(Visit, void*);

constinit Walk next_walk = nullptr;

// At load, lest dlsym's lock be asked for under locks of the program.
__attribute__((constructor(101))) void find_next_walk() {
  find_function(next_walk, RTLD_NEXT, "dl_iterate_phdr");
}

}  // namespace

extern "C" [[gnu::weak]] PKTMALLOC_EXPORT int dl_iterate_phdr(Visit visit, void* data) {
  if (next_walk == nullptr) find_next_walk();
  // An exception that leaves by here lets the flag stand: then this thread starts none of ours.
  const Raised walking(walks_loader);
  return next_walk != nullptr ? next_walk(visit, data) : 0;
}

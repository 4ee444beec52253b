// SPDX-License-Identifier: MIT
// dlopen without RTLD_DEEPBIND. A library loaded with that flag finds malloc and free in libc.so.6
// before ours; when it and the program hand objects to each other, the wrong one frees them
// (docs/decisions.md).
//
// glibc's dlopen looks at its return address: it searches with the RUNPATH, $ORIGIN and namespace
// of the object there. So ours leaves by a jump, with the caller's return address in place. No
// compiler promises that, hence the assembly (machine.h).
//
// The first call looks up the next dlopen, because other libraries' constructors may run before
// ours. Weak, because a program linked with the archive may have its own dlopen.
//
// The flag is never lost in silence: PKTMALLOC_VERBOSE reports the first time, the window counts.
#include <dlfcn.h>

#include <atomic>

#include "preload/base/library_function.h"
#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/formats/live_window.h"
#include "sizeclass/base/machine.h"

namespace {

using namespace pktmalloc;
using Open = void* (*)(const char*, int);

constinit std::atomic<Open> next_dlopen = nullptr;

// dlsym finds nothing in a program linked with -static. There every caller is the program itself.
void* open_in_base(const char* file, int mode) { return dlmopen(LM_ID_BASE, file, mode); }

Open find_next_dlopen() {
  Open next = open_in_base;
  find_function(next, RTLD_NEXT, "dlopen");
  next_dlopen.store(next, std::memory_order_relaxed);
  return next;
}

[[gnu::used]] Open prepare(const char* file, int mode) asm("pktmalloc_prepare_dlopen");

Open prepare(const char* file, int mode) {
  // With RTLD_NOLOAD nothing is bound.
  if ((mode & (RTLD_DEEPBIND | RTLD_NOLOAD)) == RTLD_DEEPBIND && file != nullptr) {
    const std::atomic_ref lost(pktmalloc_window.deep_bindings);
    if (lost.fetch_add(1, std::memory_order_relaxed) == 0 && options().verbose)
      message("dlopen ignores RTLD_DEEPBIND, here for %s; README, Limits, says how to keep it",
              file);
  }
  const Open next = next_dlopen.load(std::memory_order_relaxed);
  return next != nullptr ? next : find_next_dlopen();
}

static_assert(RTLD_DEEPBIND == 8, "the number in dlopen");

}  // namespace

asm(".text\n\t"
    ".weak dlopen\n\t"
    ".type dlopen, %function\n\t"
    ".balign 64\n"
    "dlopen:\n\t"
    ".cfi_startproc\n\t"  //
    PKTMALLOC_JUMP("pktmalloc_prepare_dlopen", "8")
    ".cfi_endproc\n\t"
    ".size dlopen, . - dlopen");

// SPDX-License-Identifier: MIT
// _exit and _Exit: the ends that run no handler. They note the last statistics in the recording, if
// there is one; the rest is there already. Nothing else may be done here: programs call them in
// signal handlers and in children of fork and vfork.
//
// And __cxa_atexit, by which functions come to be called at exit, the latest first: atexit's, and
// destructors of static objects. Ours is always the latest where leaks are to be looked for, so
// that nothing is gone yet of what the program could reach.
//
// Weak, because a program linked with the archive may have its own.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "preload/base/export.h"
#include "preload/base/library_function.h"
#include "preload/base/options.h"
#include "preload/process/process.h"
#include "preload/recording/recording.h"
#include "preload/reports/report.h"

namespace {

using namespace pktmalloc;

// By libc's own function.
int add_call(void (*call)(void*), void* with, void* library) {
  static int (*next)(void (*)(void*), void*, void*) = nullptr;
  if (next == nullptr) find_function(next, RTLD_NEXT, "__cxa_atexit");
  return next(call, with, library);
}

// To exit within exit goes on with what is left to be called.
void check_leaks(void* /*unused*/) {
  static bool done = false;
  if (!in_own_memory() || std::exchange(done, true)) return;
  if (const int status = ask_for_leaks(options().leak_check)) exit(status);
}

// At load, and after each call of another.
__attribute__((constructor(102))) void stay_latest() {
  if (options().leak_check != 0) add_call(check_leaks, nullptr, nullptr);
}

}  // namespace

extern "C" {

[[gnu::weak]] PKTMALLOC_EXPORT int __cxa_atexit(void (*call)(void*), void* with, void* library) {
  const int result = add_call(call, with, library);
  stay_latest();
  return result;
}

[[gnu::weak]] PKTMALLOC_EXPORT void _exit(int status) {
  if (recording_here() != nullptr && in_own_memory()) note_moment();
  for (;;) syscall(SYS_exit_group, status);
}

[[gnu::weak]] PKTMALLOC_ALIAS(_exit) void _Exit(int status) noexcept;

}  // extern "C"

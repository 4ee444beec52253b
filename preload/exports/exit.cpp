// SPDX-License-Identifier: MIT
// _exit and _Exit: the ends that run no handler. They note the last statistics in the recording, if
// there is one; the rest is there already. Nothing else may be done here: programs call them in
// signal handlers and in children of fork and vfork.
//
// Weak, because a program linked with the archive may have its own.
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/export.h"
#include "preload/process/process.h"
#include "preload/recording/recording.h"
#include "preload/reports/moment.h"

extern "C" {

[[gnu::weak]] PKTMALLOC_EXPORT void _exit(int status) {
  using namespace pktmalloc;
  if (recording_here() != nullptr && in_own_memory()) note_moment();
  for (;;) syscall(SYS_exit_group, status);
}

[[gnu::weak]] PKTMALLOC_ALIAS(_exit) void _Exit(int status) noexcept;

}  // extern "C"

// SPDX-License-Identifier: MIT
#include "preload/recording/trace_order.h"

#include <sys/stat.h>

#include <climits>
#include <cstring>

#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/this_library.h"
#include "preload/recording/observer.h"
#include "preload/recording/trace.h"

namespace pktmalloc {
namespace {

bool started = false;  // and not stopped; perhaps it has ended early

const char* objection(const char* pattern) {
  if (kThisLibrary != LibraryKind::kNormal) return "is for libpktmalloc.so";
  if (options().trace_path != nullptr) return "is that of PKTMALLOC_TRACE";
  if (started) return "is under way already";
  if (pattern == nullptr) return "needs a file";
  if (strlen(pattern) >= PATH_MAX) return "has too long a name";
  struct stat found;  // a pattern that names no file is taken for a regular one
  if (status_of(pattern, &found) == 0 && !S_ISREG(found.st_mode)) return "needs a regular file";
  return nullptr;
}

}  // namespace

const char* start_trace(const char* pattern) {
  if (const char* const why = objection(pattern)) return why;
  static char copy[PATH_MAX];
  started = begin_trace(strcpy(copy, pattern), true);
  return started ? nullptr : "cannot be written; the process's stderr says why";
}

const char* stop_trace() {
  if (options().trace_path != nullptr) {
    return "is that of PKTMALLOC_TRACE, and ends with the process";
  }
  if (!started) return "is not under way";
  started = false;
  end_observation();
  const trace::State* const end = finish_trace();
  if (end == nullptr || *end != trace::State::kEnded) {
    return "ends early, or is that of a parent process; stderr says why";
  }
  return nullptr;
}

}  // namespace pktmalloc

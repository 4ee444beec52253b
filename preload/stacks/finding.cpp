// SPDX-License-Identifier: MIT
#include "preload/stacks/finding.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/base/options.h"
#include "preload/base/other_stack.h"
#include "preload/base/report_file.h"
#include "preload/formats/writer.h"
#include "preload/process/thread.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc {
namespace {

// In report mode: a fault in a loop should not fill the disk.
constexpr unsigned kMostFindings = 100;
constinit std::atomic<unsigned> findings = 0;
// This thread is reporting a finding: it ignores any that its own report leads to.
constinit thread_local bool telling = false;

// A function without a name in libc, such as memset's variant for this processor, tells nobody
// anything: its caller is named instead.
bool unnamed_in_libc(uintptr_t pc) {
  const Function function = function_at(pc);
  return function.begin == 0 && function.module != nullptr &&
         strncmp(function.module, "libc.so", 7) == 0;
}

void write_stack(Writer& out, Demangler demangler, const char* title, StackId id) {
  if (id == 0) return;
  uintptr_t frames[kStackFrames];
  const unsigned count = frames_outside(id, frames);
  out.print("  %s%s\n", title, count == 0 ? " an unknown place" : ":");
  for (unsigned i = 0; i < count; ++i) {
    out.print("    #%-2u ", i);
    describe(out, frames[i], Detail::kOffsets, demangler);
    out.print("\n");
  }
}

struct Finding {
  StackId now;
  const Facts& object;
  const char* format;
  va_list arguments;
};

void write_finding(void* its, bool has_room) {
  auto& [now, object, format, arguments] = *static_cast<Finding*>(its);
  if (telling) return;
  const unsigned number = findings.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMostFindings) return;
  telling = true;
  const KeepErrno keep_errno;
  char what[300];
  vsnprintf(what, sizeof what, format, arguments);

  char buffer[1000];
  const int fd = kept_stderr();
  Writer out(fd >= 0 ? fd : STDERR_FILENO, buffer, sizeof buffer);
  const Demangler demangler = has_room && !this_thread.forking ? find_demangler() : nullptr;
  uintptr_t frames[kStackFrames];
  const unsigned count = frames_outside(now, frames);
  unsigned named = 0;
  while (named + 1 < count && unnamed_in_libc(frames[named])) ++named;
  out.print("pktmalloc: %s%s", what, count > 0 ? ", in " : "");
  if (count > 0) describe(out, frames[named], Detail::kNames, demangler);
  out.print("\n");
  write_stack(out, demangler, "found in", now);
  write_stack(out, demangler, "allocated in", object.allocated_at);
  write_stack(out, demangler, "first freed in", object.freed_at);
  if (const Facts* const front = object.in_front) {
    snprintf(what, sizeof what, "perhaps from %p, the object of %zu bytes in front, allocated in",
             front->user, front->bytes);
    write_stack(out, demangler, what, front->allocated_at);
  }
  if (number + 1 == kMostFindings) out.print("pktmalloc: further findings are not told\n");
  out.finish();
  telling = false;
}

const char* up_to(const Facts& object) { return object.is_most ? "up to " : ""; }

}  // namespace

void tell(StackId now, const Facts& object, const char* format, ...) {
  Finding finding{now, object, format, {}};
  va_start(finding.arguments, format);
  run_on_other_stack(write_finding, &finding);
  va_end(finding.arguments);
  if (!telling && !object.ends_by_signal && !options().check_reports) abort();
}

void tell_wrong_pointer(StackId now, const Facts& object, const char* call, const void* p,
                        const char* found) {
  const char* const most = up_to(object);
  const ptrdiff_t at = static_cast<const char*>(p) - static_cast<const char*>(object.user);
  const ptrdiff_t end = static_cast<ptrdiff_t>(object.bytes);
  const bool frees = strncmp(call, "free", 4) == 0 || strncmp(call, "operator", 8) == 0;
  if (object.user == nullptr) {
    tell(now, object, "%s of %p, a heap address that was never handed out", call, p);
  } else if (at == 0 && frees) {
    tell(now, object, "double free of %p, an object of %s%zu bytes%s", p, most, object.bytes,
         found);
  } else if (at == 0) {
    tell(now, object, "%s of %p after it was freed: an object of %s%zu bytes", call, p, most,
         object.bytes);
  } else {
    const char* const side = at < 0 ? "before" : at < end ? "inside" : "behind";
    const ptrdiff_t distance = at < 0 ? -at : at < end ? at : at - end;
    tell(now, object, "%s of %p, %td bytes %s an object of %s%zu bytes%s", call, p, distance, side,
         most, object.bytes, object.is_freed ? " that is freed" : "");
  }
}

void tell_access(StackId now, const Facts& object, const char* what, uintptr_t address,
                 const char* found) {
  const auto at = static_cast<ptrdiff_t>(address - reinterpret_cast<uintptr_t>(object.user));
  const bool before = at < 0, past = at >= static_cast<ptrdiff_t>(object.bytes);
  const char* const where = before ? "before the start of"
                            : past ? "past the end of"
                                   : "after free to";
  const bool outside_freed = object.is_freed && (before || past);
  tell(now, object, "%s %s %p, an object of %s%zu bytes%s: byte %td%s", what, where, object.user,
       up_to(object), object.bytes, outside_freed ? " that is freed" : "", at, found);
}

void tell_copy(Site site, const Facts& object, const void* to) {
  if (in_this_library(site.pc)) return;
  const auto begin = reinterpret_cast<uintptr_t>(object.user);
  const auto first = reinterpret_cast<uintptr_t>(to);
  const bool starts_outside = first < begin || object.freed_at != 0;
  tell_access(capture(site), object, "write",
              starts_outside ? first : std::max(first, begin + object.bytes));
}

}  // namespace pktmalloc

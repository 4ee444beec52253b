// SPDX-License-Identifier: MIT
// abort, by which libgcc_s ends the process where it finds code whose unwind table does not say how
// (what LuaJIT compiles). While it looks for a stack on our behalf, the stack ends there instead.
//
// Not in the archive: in a program linked with -static there is no next one.
#include "preload/base/export.h"
#include "preload/base/library_function.h"
#include "preload/process/fault_signal.h"

namespace {

void (*next_abort)() = nullptr;

// At load: a watchdog must not wait for the lock of dlsym.
__attribute__((constructor(101))) void find_next_abort() {
  pktmalloc::find_function(next_abort, RTLD_NEXT, "abort");
}

}  // namespace

extern "C" PKTMALLOC_EXPORT void abort() noexcept {
  using namespace pktmalloc;
  const auto caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  if (goes_on != nullptr && is_unwinders(caller)) longjmp(*goes_on, 1);
  if (next_abort == nullptr) find_next_abort();
  for (;;) next_abort();
}

// SPDX-License-Identifier: MIT
#include "preload/stacks/frame_pointers.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#include "preload/stacks/symbols.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/machine.h"

namespace pktmalloc {
namespace {

constexpr uintptr_t kPage = 4096;
constexpr uintptr_t kLargestFrame = size_t{1} << 20;

// The system reads the new mask before it rejects the nonsensical first argument. This changes
// nothing, and tells unreadable pages apart.
bool readable(uintptr_t page) {
  const KeepErrno keep_errno;
  syscall(SYS_rt_sigprocmask, ~0, page, nullptr, size_t{8});
  return errno != EFAULT;
}

bool foreign(uintptr_t pc) { return !in_this_library(pc); }

}  // namespace

WalkedFrames walk_frame_pointers(Site site, uintptr_t* frames, unsigned most) {
  frames[0] = site.pc;
  FoundFrame frame{site.pc, 0};
  if (machine::kCallsPushFrames) frame.frame_pointer = machine::frame_pointer_before(site.cfa);
  const bool ask = !machine::kCallsPushFrames || in_this_library(site.pc);
  if (ask && find_frame(site, foreign, frame)) frames[0] = frame.pc;
  unsigned count = 1;
  uintptr_t below = site.cfa;
  uintptr_t known_page = site.cfa / kPage;
  for (uintptr_t at = frame.frame_pointer;; ++count) {
    const uintptr_t words_end = at + 2 * sizeof(uintptr_t);
    if (at < below || at - below > kLargestFrame || at % sizeof(uintptr_t) != 0) break;
    for (const uintptr_t page : {at / kPage, (words_end - 1) / kPage}) {
      if (page == known_page) continue;
      if (!readable(page * kPage)) return {count, false};
      known_page = page;
    }
    const uintptr_t* const words = reinterpret_cast<const uintptr_t*>(at);
    if (words[1] < kPage || words[1] >> machine::kAddressBits != 0) break;  // no code
    if (count == most) return {count, true};
    frames[count] = words[1];
    below = words_end;
    at = words[0];
  }
  return {count, false};
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// FramePointers: finds the stack by the chain of saved frame pointers, for programs compiled with
// -fno-omit-frame-pointer and for code without unwind tables. A word that nobody may read ends the
// walk, whatever the chain holds.
//
// Frames of this library have none: if the site lies in it, its tables unwind them.
#include <alloca.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#include "preload/stacks/stacks.h"
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

}  // namespace

StackId capture_by_frame_pointers(Site site) {
  FoundFrame frame{site.pc, machine::frame_pointer_before(site.cfa)};
  if (!machine::kCallsPushFrames || in_this_library(site.pc)) find_frame_outside(site, frame);
  Frame* const frames = static_cast<Frame*>(alloca(stack_depth * sizeof(Frame)));
  frames[0] = {frame.pc, 0};
  unsigned count = 1;
  uintptr_t below = site.cfa;
  uintptr_t known_page = site.cfa / kPage;
  for (uintptr_t at = frame.frame_pointer;; ++count) {
    const uintptr_t words_end = at + 2 * sizeof(uintptr_t);
    if (at < below || at - below > kLargestFrame || at % sizeof(uintptr_t) != 0) break;
    for (const uintptr_t page : {at / kPage, (words_end - 1) / kPage}) {
      if (page == known_page) continue;
      if (!readable(page * kPage)) return intern(frames, count, false);
      known_page = page;
    }
    const uintptr_t* const words = reinterpret_cast<const uintptr_t*>(at);
    if (words[1] < kPage || words[1] >> machine::kAddressBits != 0) break;  // no code
    if (count == stack_depth) return intern(frames, count, true);
    frames[count] = {words[1], 0};
    below = words_end;
    at = words[0];
  }
  return intern(frames, count, false);
}

}  // namespace pktmalloc

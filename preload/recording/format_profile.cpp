// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "preload/base/options.h"
#include "preload/contract/pktmalloc.h"
#include "preload/formats/heap_profile.h"
#include "preload/recording/mapped_files.h"
#include "preload/recording/profile.h"

namespace pktmalloc {

void write_profile(Writer& out) {
  const uint32_t end = profile_stacks();
  PlaceSums all{};
  for (uint32_t i = 1; i < end; ++i) all += profile_sums(i);
  write_profile_head(
      out, {program_name(), PKTMALLOC_VERSION, getpid(), options().profile_rate(), profile_lost()},
      all);
  for (uint32_t i = 1; i < end; ++i) {
    const ProfileSums s = profile_sums(i);
    uintptr_t frames[kMostFrames + kThreadWords];
    const unsigned count = profile_frames(s.stack, frames, kMostFrames + kThreadWords);
    write_profile_place(out, s, {frames, count, is_cut(s.stack)});
  }
  write_profile_mappings_head(out);
  write_mapped_files(out);
  write_profile_end(out);
}

}  // namespace pktmalloc

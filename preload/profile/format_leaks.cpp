// SPDX-License-Identifier: MIT
#include "preload/profile/format_leaks.h"

#include <algorithm>

#include "preload/contract/bytes.h"
#include "preload/contract/format.h"
#include "preload/profile/profile.h"
#include "preload/stacks/symbols.h"

namespace pktmalloc {
namespace {

constexpr unsigned kPlaces = 10;
constexpr unsigned kFrames = 8;

// "1.2 MiB +- 0.3 MiB in 2400 objects (19 samples)"; exact where the variance is zero.
void write_amount(Writer& out, const PlaceSums& s) {
  out.print("%s", Bytes(rounded(s.live_bytes)).text);
  const bool exact = s.live_variance == 0;
  if (!exact) {
    out.print(" +- %s", Bytes(static_cast<uint64_t>(square_root(s.live_variance))).text);
  }
  const uint64_t objects = rounded(s.live_objects);
  out.print(" in %llu object%s", number(objects), objects == 1 ? "" : "s");
  if (!exact) {
    out.print(" (%llu sample%s)", number(s.live_samples), s.live_samples == 1 ? "" : "s");
  }
}

void write_place(Writer& out, const ProfileSums& s) {
  out.print("  ");
  write_amount(out, s);
  out.print(", allocated by\n");
  uintptr_t frames[kStackFrames];
  const unsigned count = std::min(profile_frames(s.stack, frames), kFrames);
  for (unsigned i = 0; i < count; ++i) {
    char name[300];
    describe(frames[i], Detail::kNames, Demangler(false), name, sizeof name);
    out.print("    %s\n", name);
  }
}

}  // namespace

void write_leaks(Writer& out) {
  PlaceSums all{};
  ProfileSums largest[kPlaces + 1];
  unsigned count = 0;
  unsigned place_count = 0;
  const uint32_t end = profile_stacks();
  for (uint32_t i = 1; i < end; ++i) {
    const ProfileSums s = profile_sums(i);
    if (s.live_samples == 0) continue;
    ++place_count;
    all += s;
    unsigned at = count;
    for (; at > 0 && largest[at - 1].live_bytes < s.live_bytes; --at) largest[at] = largest[at - 1];
    largest[at] = s;
    count = std::min(count + 1, kPlaces);
  }
  out.print("pktmalloc: still allocated at exit: ");
  write_amount(out, all);
  out.print(", in %u place%s\n", place_count, place_count == 1 ? "" : "s");
  for (unsigned i = 0; i < count; ++i) write_place(out, largest[i]);
  if (place_count > count) out.print("  and %u places with less\n", place_count - count);
}

}  // namespace pktmalloc

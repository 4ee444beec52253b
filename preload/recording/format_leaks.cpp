// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "preload/base/options.h"
#include "preload/formats/bytes.h"
#include "preload/formats/format.h"
#include "preload/recording/profile.h"
#include "preload/stacks/symbols.h"

namespace pktmalloc {
namespace {

constexpr unsigned kPlaces = 10;
constexpr unsigned kFrames = 8;

bool is_exact() { return options().profile_rate() == 1; }

// "about 1.2 MiB +- 0.3 MiB in 2400 objects (19 samples)", or "1.2 MiB in 2400 objects".
void write_amount(Writer& out, const Amount& amount) {
  const bool exact = is_exact();
  out.print("%s%s", exact ? "" : "about ", Bytes(rounded(amount.bytes)).text);
  if (!exact && amount.samples > 0) {
    out.print(" +- %s", Bytes(static_cast<uint64_t>(square_root(amount.variance))).text);
  }
  const uint64_t objects = rounded(amount.objects);
  out.print(" in %llu object%s", number(objects), objects == 1 ? "" : "s");
  if (!exact) out.print(" (%llu sample%s)", number(amount.samples), amount.samples == 1 ? "" : "s");
}

struct Leak {
  Amount live;
  StackId stack;
};

// False: a name is the linker's.
bool write_place(Writer& out, const Leak& leak, Demangler demangler) {
  out.print("  ");
  write_amount(out, leak.live);
  out.print(", allocated by\n");
  uintptr_t frames[kStackFrames];
  const unsigned count = std::min(profile_frames(leak.stack, frames, kStackFrames), kFrames);
  bool readable = true;
  for (unsigned i = 0; i < count && !is_thread(frames[i]); ++i) {
    char name[300];
    Writer text(name, sizeof name);
    describe(text, frames[i], Detail::kNames, demangler);
    text.finish();
    out.print("    %s\n", name);
    readable &= strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0;
  }
  return readable;
}

}  // namespace

void write_leaks(Writer& out, bool has_room) {
  Amount all{};
  Leak largest[kPlaces + 1];
  unsigned place_count = 0;
  const uint32_t end = profile_stacks();
  for (uint32_t i = 1; i < end; ++i) {
    const ProfileSums s = profile_sums(i);
    if (s.live.samples == 0) continue;
    all += s.live;
    unsigned at = std::min(place_count++, kPlaces);
    for (; at > 0 && largest[at - 1].live.bytes < s.live.bytes; --at) largest[at] = largest[at - 1];
    largest[at] = {s.live, s.stack};
  }
  out.print("pktmalloc: still allocated at exit: ");
  write_amount(out, all);
  out.print(", in %u place%s\n", place_count, place_count == 1 ? "" : "s");
  if (!is_exact()) {
    const uint64_t rate = options().profile_rate();
    out.print(
        "  estimated from one sample per %s; +- is one standard error\n"
        "  a place that holds less than %s may be missing; PKTMALLOC_PROFILE_RATE=1 is exact\n",
        Bytes(rate).text, Bytes(kSeldomMissed * rate).text);
  }
  if (const uint64_t lost = profile_lost(); lost > 0) {
    out.print("  %llu samples were lost for want of memory and are missing here\n", number(lost));
  }
  const Demangler demangler = has_room ? find_demangler() : nullptr;
  const unsigned count = std::min(place_count, kPlaces);
  bool readable = true;
  for (unsigned i = 0; i < count; ++i) readable &= write_place(out, largest[i], demangler);
  if (place_count > count) out.print("  and %u places with less\n", place_count - count);
  if (!readable) out.print("  c++filt reads names that begin with _Z or _R\n");
  out.print("  what is lost and what the program could still reach is not told apart\n");
}

}  // namespace pktmalloc

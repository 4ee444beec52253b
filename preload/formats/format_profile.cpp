// SPDX-License-Identifier: MIT
// The heap profile in the text format of gperftools ("heapprofile"), which Google's pprof and
// Debian's google-pprof read. The numbers already estimate the whole, so neither scales them: a
// reader that knows only a stack's sums could not do it without bias.
//
// Comments, which both skip, hold the rest: behind each stack the number of samples and the
// standard errors of its bytes, its thread if threads are told apart, whether it was deeper than
// that, what it held at the peak and its temporary objects; behind the mappings the build ids of
// the files, by the address where the executable mapping begins.
// tools/command/profile/heap_profile.cpp reads all of it.
#include <algorithm>

#include "preload/formats/heap_profile.h"

namespace pktmalloc {
namespace {

// Anything there is at least one object: readers refuse bytes without any.
uint64_t objects(const Amount& amount) {
  return amount.samples == 0 ? 0 : std::max<uint64_t>(rounded(amount.objects), 1);
}

uint64_t error(const Amount& amount) { return rounded(square_root(amount.variance)); }

void write_sums(Writer& out, const PlaceSums& s) {
  out.print("%llu: %llu [%llu: %llu] @", number(objects(s.live)), number(rounded(s.live.bytes)),
            number(objects(s.all)), number(rounded(s.all.bytes)));
}

void write_amount(Writer& out, const char* name, const Amount& amount) {
  out.print("# %s %llu: %llu samples %llu error %llu\n", name, number(objects(amount)),
            number(rounded(amount.bytes)), number(amount.samples), number(error(amount)));
}

}  // namespace

uint64_t rounded(double x) { return x < 0.5 ? 0 : (static_cast<uint64_t>(2 * x) + 1) / 2; }

double square_root(double x) { return x < 1 ? 0 : __builtin_sqrt(x); }

void write_profile_head(Writer& out, const ProfileOrigin& origin, const PlaceSums& all) {
  out.print("heap profile: ");
  write_sums(out, all);
  out.print(" heapprofile\n# pktmalloc %s: %s, process %d\n", origin.version, origin.program,
            origin.pid);
  out.print("# rate %llu lost %llu\n", number(origin.rate), number(origin.lost));
  out.print("# schema %d\n", kProfileSchema);
}

void write_profile_place(Writer& out, const PlaceSums& s, const PlaceFrames& stack) {
  if (s.all.samples == 0) return;
  write_sums(out, s);
  unsigned i = 0;
  for (; i < stack.count && !is_thread(stack.frames[i]); ++i) {
    out.print(" %#llx", number(stack.frames[i]));
  }
  if (i == 0) out.print(" 0x1");  // unknown
  out.print("\n# samples %llu %llu errors %llu %llu\n", number(s.live.samples),
            number(s.all.samples), number(error(s.live)), number(error(s.all)));
  if (i + kThreadWords <= stack.count) {
    const uint64_t* const thread = stack.frames + i;
    out.print("# thread %llu %llx %llx\n", number(*thread & ~kThreadMark), number(thread[1]),
              number(thread[2]));
  }
  if (stack.is_cut) out.print("# cut\n");
  if (s.peak.samples > 0) write_amount(out, "peak", s.peak);
  if (s.temporary.samples > 0) write_amount(out, "temporary", s.temporary);
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// The heap profile in the text format of gperftools ("heapprofile"), which Google's pprof and
// Debian's google-pprof read. The numbers already estimate the whole, so neither scales them: a
// reader that knows only a stack's sums could not do it without bias.
//
// Comments, which both skip, hold the rest: behind each stack the number of samples and the
// standard errors of its bytes; behind the mappings the build ids of the files, by the address
// where the executable mapping begins. tools/command/profile/heap_profile.cpp reads all of it.
#include <algorithm>

#include "preload/contract/format.h"
#include "preload/contract/heap_profile.h"

namespace pktmalloc {
namespace {

// Anything there is at least one object: readers refuse bytes without any.
uint64_t objects(double n, uint64_t samples) {
  return samples == 0 ? 0 : std::max<uint64_t>(rounded(n), 1);
}

void write_sums(Writer& out, const PlaceSums& s) {
  out.print("%llu: %llu [%llu: %llu] @", number(objects(s.live_objects, s.live_samples)),
            number(rounded(s.live_bytes)), number(objects(s.objects, s.samples)),
            number(rounded(s.bytes)));
}

}  // namespace

PlaceSums& PlaceSums::operator+=(const PlaceSums& other) {
  live_objects += other.live_objects;
  live_bytes += other.live_bytes;
  objects += other.objects;
  bytes += other.bytes;
  live_variance += other.live_variance;
  variance += other.variance;
  live_samples += other.live_samples;
  samples += other.samples;
  return *this;
}

uint64_t rounded(double x) {
  if (x < 0.5) return 0;
  const auto whole = static_cast<uint64_t>(x);
  return x - static_cast<double>(whole) < 0.5 ? whole : whole + 1;
}

double square_root(double x) {
  if (x < 1) return 0;
  double root = x;
  for (double next = (root + 1) / 2; next < root; next = (root + x / root) / 2) root = next;
  return root;
}

void write_profile_head(Writer& out, const ProfileOrigin& origin, const PlaceSums& all) {
  out.print("heap profile: ");
  write_sums(out, all);
  out.print(" heapprofile\n# pktmalloc %s: %s, process %d\n", origin.version, origin.program,
            origin.pid);
  out.print("# rate %llu lost %llu\n", number(origin.rate), number(origin.lost));
}

void write_profile_place(Writer& out, const PlaceSums& s, const uint64_t* frames, unsigned count) {
  if (s.samples == 0) return;
  write_sums(out, s);
  for (unsigned i = 0; i < count; ++i) out.print(" %#llx", number(frames[i]));
  if (count == 0) out.print(" 0x1");  // unknown
  out.print("\n# samples %llu %llu errors %llu %llu\n", number(s.live_samples), number(s.samples),
            number(rounded(square_root(s.live_variance))),
            number(rounded(square_root(s.variance))));
}

void write_profile_mappings_head(Writer& out) { out.print("\nMAPPED_LIBRARIES:\n"); }

void write_profile_end(Writer& out) {
  out.print("# end\n");  // a file without it was cut off
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "preload/recording/peak.h"

#include <catch2/catch.hpp>
#include <vector>

#include "preload/formats/heap_profile.h"
#include "tests/model/random.h"
#include "tests/model/shrink.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

struct Place {
  PlacePeaks<Amount> peaks{};
  Amount live{};
};

struct Object {
  uint32_t place;
  Amount amount;
};

bool same(const Amount& a, const Amount& b) {
  return a.objects == b.objects && a.bytes == b.bytes && a.variance == b.variance &&
         a.samples == b.samples;
}

std::vector<Amount> all_live(const std::vector<Place>& places) {
  std::vector<Amount> all;
  for (const Place& place : places) all.push_back(place.live);
  return all;
}

// The model walks over all places whenever the sum is higher than ever.
const char* run(Random& random) {
  Peak peak;
  std::vector<Place> places(1 + random.below(6));
  std::vector<Object> objects;
  double total = 0, highest = 0;
  std::vector<Amount> at_highest = all_live(places), pinned = at_highest;
  uint32_t growth = 5;  // of ten steps, so many add
  for (int step = 0; step < 3000 && !random.over(); ++step) {
    if (random.one_in(50)) growth = random.below(11);
    if (random.one_in(30)) {
      peak.pin();
      pinned = at_highest;
      if (peak.number() == 0 && highest > 0) return "number";
    } else if (random.one_in(40) && places.size() < 40) {
      places.emplace_back();  // a place that comes later held nothing
      at_highest.emplace_back();
      pinned.emplace_back();
    } else if (random.below(10) < growth || objects.empty()) {
      const uint32_t n = random.below(places.size());
      const double bytes = random.mostly_small(1000);
      const Amount amount = {1, bytes, 2 * bytes, 1};
      peak.add(places[n].peaks, places[n].live, amount, bytes);
      objects.push_back({n, amount});
      total += bytes;
      if (total > highest) {
        highest = total;
        at_highest = all_live(places);
      }
    } else {
      std::swap(objects[random.below(objects.size())], objects.back());
      const Object object = objects.back();
      objects.pop_back();
      Place& place = places[object.place];
      peak.remove(place.peaks, place.live, object.amount, object.amount.bytes);
      total -= object.amount.bytes;
    }
    for (size_t n = 0; n < places.size(); ++n) {
      if (!same(peak.at_pinned(places[n].peaks, places[n].live), pinned[n])) return "pinned";
    }
  }
  peak.pin();
  for (size_t n = 0; n < places.size(); ++n) {
    if (!same(peak.at_pinned(places[n].peaks, places[n].live), at_highest[n])) return "peak";
  }
  return nullptr;
}

}  // namespace

TEST_CASE("what places held at the peak is what a walk over all of them would have noted") {
  CHECK(first_failure(50, run) == "");
}

// SPDX-License-Identifier: MIT
// Peak: what each place held when all of them together held most.
//
// Peaks are numbered: whenever all places together hold more than ever, the number rises. Nobody
// walks over the places then. A place notes what it holds before its first change after a peak; as
// long as it has not changed, what it held is what it holds. So a change costs the same however
// many places there are, and the result is exact: that of the moment at which the sum was highest,
// the first such moment if there are several.
//
// Higher peaks may come while a report is written, place by place, so the report pins its peak: a
// place that notes a later one keeps what it held at the pinned one.
//
// Not synchronised. Whatever is zeroed holds nothing.
#pragma once

#include <cstdint>

namespace pktmalloc {

// What a place held at the peak of that number.
template <typename Amount>
struct HeldAt {
  Amount amount;
  uint64_t peak;
};

// Of a place: for the latest peak before its latest change, and for the pinned one, if that was
// earlier.
template <typename Amount>
struct PlacePeaks {
  HeldAt<Amount> held, kept;
};

class Peak {
 public:
  // Each change of what the place holds: an object comes, of so many bytes, or goes.
  template <typename Amount>
  void add(PlacePeaks<Amount>& place, Amount& live, const Amount& object, double bytes) {
    note(place, live);
    live += object;
    ++objects_;
    bytes_ += bytes;
    if (bytes_ > highest_) begin_anew();
  }
  template <typename Amount>
  void remove(PlacePeaks<Amount>& place, Amount& live, const Amount& object, double bytes) {
    note(place, live);
    live -= object;
    bytes_ = --objects_ == 0 ? 0 : bytes_ - bytes;  // no rounding errors stay
  }
  // This moment is the peak, whatever was before.
  void begin_anew() {
    highest_ = bytes_;
    ++number_;
  }

  // The latest peak stays readable until the next pin. Returns its bytes.
  double pin() {
    pinned_ = number_;
    return highest_;
  }

  template <typename Amount>
  Amount at_pinned(const PlacePeaks<Amount>& place, const Amount& live) const {
    return place.kept.peak == pinned_   ? place.kept.amount
           : place.held.peak == pinned_ ? place.held.amount
                                        : live;  // unchanged since an earlier peak
  }

  // The latest peak; 0: nothing was ever held.
  uint64_t number() const { return number_; }

 private:
  template <typename Amount>
  void note(PlacePeaks<Amount>& place, const Amount& live) {
    if (place.held.peak == number_) return;
    if (place.kept.peak != pinned_) place.kept = {at_pinned(place, live), pinned_};
    place.held = {live, number_};
  }

  double bytes_ = 0, highest_ = 0;  // of all places
  uint64_t objects_ = 0;
  uint64_t number_ = 0, pinned_ = 0;
};

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// From a virtual page to its frame: two levels of TLB, then a walk in two dimensions.
//
// In a virtual machine the guest's tables hold addresses of the guest, so the place of every entry
// that is read there, and at last the page itself, has to be looked up in the host's tables as
// well: up to 24 references (Bhargava and others, Accelerating Two-Dimensional Page Walks, 2008). A
// nested TLB remembers frames of the guest. All references go through the data caches.
//
// A page gets its frame when it is touched, zeroed by the kernel, and loses it when the program
// gives it back.
#pragma once

#include <cstdint>

#include "tools/bench/simulated/caches.h"
#include "tools/bench/simulated/frames.h"
#include "tools/bench/simulated/page_tables.h"

namespace simulated {

struct TranslationCounts {
  std::uint64_t first_misses = 0, second_misses = 0;
  std::uint64_t walk_references = 0;
  CacheMisses walk_misses;
  std::uint64_t page_faults = 0;

  double cycles() const {
    return kSecondTlbCycles * static_cast<double>(first_misses) +
           kFirstCacheCycles * static_cast<double>(walk_references) + walk_misses.cycles() +
           kPageFaultCycles * static_cast<double>(page_faults);
  }
};

class Translation {
 public:
  explicit Translation(Caches& caches) : caches_(caches) {}

  // The page's frame in the memory of the host.
  std::uint64_t frame(std::uint64_t page) {
    const auto [guest_frame, is_new] = frames_.find(page);
    const std::uint64_t host_frame = Frames::host_frame(guest_frame);
    if (is_new) fault(host_frame);
    if (first_.access(page)) return host_frame;
    ++counts_.first_misses;
    if (!second_.access(folded(page))) {
      ++counts_.second_misses;
      walk(page, guest_frame);
    }
    return host_frame;
  }

  // The pages from `first` up to `last` are given back.
  void release(std::uint64_t first, std::uint64_t last) {
    frames_.release(first, last, [this](std::uint64_t page) {
      first_.forget(page);
      second_.forget(folded(page));
    });
  }

  const TranslationCounts& counts() const { return counts_; }

 private:
  // Tables of the host lie where no frame of the guest does.
  static constexpr std::uint64_t kHost = std::uint64_t{1} << 63;
  static constexpr unsigned kLineOfPageShift = kPageShift - kLineShift;

  // Another name of the page, no other page's, whose lowest part is the set in the second level.
  static std::uint64_t folded(std::uint64_t page) {
    static_assert(kSecondTlb.sets == 1u << kSecondTlbFold);
    return page ^ (page >> kSecondTlbFold & (kSecondTlb.sets - 1));
  }

  void fault(std::uint64_t host_frame) {
    ++counts_.page_faults;
    for (std::uint64_t line = 0; line < 1u << kLineOfPageShift; ++line)
      caches_.fill(host_frame << kLineOfPageShift | line);
  }

  void walk(std::uint64_t page, std::uint64_t guest_frame) {
    guest_.walk(page, [this](TableEntry entry) {
      const std::uint64_t table_frame = frames_.find(entry.table).guest_frame;
      translate_guest(table_frame);
      read(table_frame, entry.index);
    });
    translate_guest(guest_frame);
  }

  void translate_guest(std::uint64_t guest_frame) {
    if (nested_.access(guest_frame)) return;
    host_.walk(guest_frame, [this](TableEntry entry) { read(kHost | entry.table, entry.index); });
  }

  void read(std::uint64_t frame, std::uint64_t index) {
    ++counts_.walk_references;
    const std::uint64_t address = Frames::host_frame(frame) << kPageShift | index << kEntryShift;
    caches_.access(address >> kLineShift, counts_.walk_misses);
  }

  Caches& caches_;
  Frames frames_;
  SetAssociative first_{kFirstTlb}, second_{kSecondTlb}, nested_{kNestedTlb};
  PageTables guest_, host_;
  TranslationCounts counts_;
};

}  // namespace simulated

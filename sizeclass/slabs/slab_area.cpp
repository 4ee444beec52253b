// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/slab_area.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/misuse.h"

namespace pktmalloc {

uint32_t SlabArea::fill(uintptr_t* slots, uint32_t want, bool* zero) {
  const Lock lock(s_.mutex);
  uintptr_t* next = slots + want;
  while (next != slots) {
    if (s_.partial.count() == 0 && s_.thinned.count() == 0 && take_slab() == SlabPool::kNone) break;
    const uint32_t slab = s_.partial.count() != 0 ? s_.partial.lowest() : s_.thinned.lowest();
    if (class_.sharers > 1) next = serve(slab, true, slots, next, nullptr);
    next = serve(slab, false, slots, next, zero);
  }
  const uint32_t got = want - static_cast<uint32_t>(next - slots);
  if (next != slots) memmove(slots, next, got * sizeof *slots);
  s_.free_low.record(free_unthinned());
  ++s_.counts.fills;
  s_.counts.filled += got;
  return got;
}

// Writes free objects of the slab to the slots before `end`, down to `low` at most; if `lines`,
// only those whose cache lines nobody else has. Returns the lowest slot that has one.
uintptr_t* SlabArea::serve(uint32_t slab, bool lines, uintptr_t* low, uintptr_t* end, bool* zero) {
  Record& r = record(slab);
  const uint32_t words = this->words(), first = first_object(slab);
  uint64_t wanted = ~uint64_t{0} << first % 64;  // the word that has the first one comes twice
  uint32_t latest = first, w = first / 64;
  uintptr_t *next = end, *const last = end - std::min<ptrdiff_t>(end - low, r.free);
  for (uint32_t n = 0; n <= words && next != last; ++n) {
    uint64_t word = lines ? whole_lines(r.bits[w] & wanted) : r.bits[w] & wanted;
    const uint64_t others = r.bits[w] & ~word;
    const uintptr_t at = pool_.start_of(slab) + uintptr_t{w} * 64 * class_.object_bytes;
    for (; word != 0 && next != last; word &= word - 1) {
      latest = w * 64 + static_cast<uint32_t>(std::countr_zero(word));
      *--next = at + static_cast<uintptr_t>(std::countr_zero(word)) * class_.object_bytes;
    }
    r.bits[w] = word | others;
    wanted = ~uint64_t{0};
    if (++w == words) w = 0;
  }
  if (next == end) return end;
  const uint32_t nth = latest >= first ? latest - first : latest + class_.objects_per_slab - first;
  if (zero != nullptr) *zero = nth >= r.used;
  r.used = std::max(r.used, static_cast<uint16_t>(nth + 1));
  set_free(slab, r, r.free - static_cast<uint32_t>(end - next));
  return next;
}

// Of these free objects, those whose cache lines nobody else has.
uint64_t SlabArea::whole_lines(uint64_t word) const {
  const unsigned sharers = class_.sharers;
  for (unsigned n = 1; n < sharers; n *= 2) word &= word >> n;
  word &= ~uint64_t{0} / ((1U << sharers) - 1);  // a bit for the first of each row of sharers
  for (unsigned n = 1; n < sharers; n *= 2) word |= word << n;
  return word;
}

void SlabArea::drain(const uintptr_t* slots, uint32_t count) {
  // Copies: to the compiler, each store to a record might change them.
  const SizeClass c = class_;
  const uint32_t all = c.objects_per_slab;
  s_.mutex.lock();
  uint64_t stay = 0;  // objects whose slab stays in its set
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t slab = pool_.slab_of(id_, slots[i]);
    const uint32_t object =
        slab == SlabPool::kNone
            ? all
            : c.exact_index(static_cast<uint32_t>(slots[i] - pool_.start_of(slab)));
    if (object >= all) [[unlikely]] {
      s_.mutex.unlock();
      refuse(slots[i]);
    }
    Record& r = record(slab);
    uint64_t& word = r.bits[object / 64];
    const uint64_t bit = uint64_t{1} << (object % 64);
    if ((word & bit) != 0) [[unlikely]] {
      s_.mutex.unlock();
      report_misuse(Misuse::kDoubleFree, slots[i], c.object_bytes);
    }
    word |= bit;
    if (r.free == 0 || r.free + 1 == all || r.thinned) {
      set_free(slab, r, r.free + 1);
    } else {
      ++r.free;
      ++stay;
    }
  }
  s_.counts.free_objects += stay;
  ++s_.counts.drains;
  s_.counts.drained += count;
  s_.mutex.unlock();
}

void SlabArea::refuse(uintptr_t address) const {
  // A slab whose last object came back twice is the pool's.
  const Misuse misuse =
      pool_.former_class(address) == id_ ? Misuse::kDoubleFree : Misuse::kNotAnObject;
  report_misuse(misuse, address, class_.object_bytes);
}

// Looks for wrong frees. A hash table finds objects that are there twice. The hash scatters:
// objects of several slabs at the same places would have a run of entries for one, and each would
// be looked for through all of it.
void SlabArea::inspect(const uintptr_t* objects, uint32_t first_count, const uintptr_t* more,
                       uint32_t more_count) const {
  const uint32_t count = first_count + more_count;
  if (count == 0 || pool_.has_states()) return;  // who keeps states looks at each call
  const auto at = [=](uint32_t i) { return i < first_count ? objects[i] : more[i - first_count]; };
  uint16_t table[4 * kInspectMost];  // the number of an object, from 1; 0: none
  const uint32_t last = std::bit_ceil(4 * count) - 1;
  const auto shift = 64 - static_cast<unsigned>(std::bit_width(last));
  memset(table, 0, (last + size_t{1}) * sizeof *table);
  const SizeClass& c = class_;
  for (uint32_t i = 0; i < count; ++i) {
    const uintptr_t object = at(i);
    const uint32_t slab = pool_.slab_of(id_, object);
    if (slab == SlabPool::kNone ||
        c.exact_index(static_cast<uint32_t>(object - pool_.start_of(slab))) >= c.objects_per_slab)
        [[unlikely]]
      refuse(object);
    uint64_t entry = (object >> c.granule_shift) * 0x9e37'79b9'7f4a'7c15 >> shift;  // Fibonacci's
    while (const uint16_t other = table[entry & last]) {
      if (at(other - 1U) == object) report_misuse(Misuse::kDoubleFree, object, c.object_bytes);
      ++entry;
    }
    table[entry & last] = static_cast<uint16_t>(i + 1);
  }
}

// Moves the slab to where it belongs with that number of free objects.
void SlabArea::set_free(uint32_t slab, Record& r, uint32_t free) {
  if (r.thinned) set_thinned(slab, r, false);
  const uint32_t all = class_.objects_per_slab, before = r.free;
  s_.counts.free_objects += uint64_t{free} - before;
  r.free = free;
  if (before == all) --s_.counts.empty_slabs;
  if (free == all && r.stays == kGoes) {
    if (before != 0) s_.partial.erase(slab);
    s_.counts.free_objects -= all;
    --s_.counts.slabs;
    pool_.give(id_, slab, class_.units);
    return;
  }
  if (free == all) ++s_.counts.empty_slabs;
  if (before == 0 && free != 0) s_.partial.insert(slab);
  if (before != 0 && free == 0) s_.partial.erase(slab);
}

void SlabArea::set_thinned(uint32_t slab, Record& r, bool thinned) {
  (thinned ? s_.partial : s_.thinned).erase(slab);
  (thinned ? s_.thinned : s_.partial).insert(slab);
  r.thinned = thinned;
  s_.thinned_objects += thinned ? r.free : uint64_t{0} - r.free;
}

uint32_t SlabArea::tick(bool if_quiet) {
  const Lock lock(s_.mutex);
  const uint32_t unneeded = s_.free_low.tick(free_unthinned());
  const auto drains = static_cast<uint32_t>(s_.counts.drains);
  return if_quiet && std::exchange(s_.drains_then, drains) != drains ? 0 : unneeded;
}

// The lock is open around the system calls, while the free objects are somebody's who has none.
uint32_t SlabArea::thin_one() {
  uint64_t bits[kMostWords];
  const Lock lock(s_.mutex);
  const uint32_t slab = s_.partial.highest();
  if (slab == SlabPool::kNone) return 0;
  Record& r = record(slab);
  const uint32_t free = r.free;
  if (r.stays == kGoes && size_t{free} * class_.object_bytes >= memory::page_bytes() &&
      pool_.lets_purge_pages(slab)) {
    std::copy_n(r.bits, words(), bits);
    std::fill_n(r.bits, words(), 0);
    set_free(slab, r, 0);
    s_.mutex.unlock();
    purge_free(slab, bits);
    s_.mutex.lock();
    for (uint32_t w = 0; w < words(); ++w) r.bits[w] |= bits[w];
    const bool alone = r.free == 0;  // nobody brought an object back meanwhile
    set_free(slab, r, r.free + free);
    if (!alone) return free;
  }
  set_thinned(slab, r, true);
  s_.free_low.remove(free);
  return free;
}

// Pages on which there is nothing but free objects.
void SlabArea::purge_free(uint32_t slab, const uint64_t* bits) const {
  const uintptr_t start = pool_.start_of(slab), page = memory::page_bytes();
  const uint32_t all = class_.objects_per_slab;
  const auto is_free = [&](uint32_t i) { return (bits[i / 64] >> i % 64 & 1) != 0; };
  for (uint32_t i = 0, end; i < all; i = end + 1) {
    for (end = i; end < all && is_free(end);) ++end;
    const uintptr_t low = round_up(start + uintptr_t{i} * class_.object_bytes, page);
    const uintptr_t high = (start + uintptr_t{end} * class_.object_bytes) & -page;
    if (low < high) pool_.purge_pages(id_, low, high - low);
  }
}

uint32_t SlabArea::take_slab(Stays stays) {
  const SlabPool::Taken taken = pool_.take(id_, class_.units);
  if (taken.unit != SlabPool::kNone) adopt(taken.unit, taken.clean, stays);
  return taken.unit;
}

// A slab that the pool has just given: all its objects are free.
void SlabArea::adopt(uint32_t slab, bool zero, Stays stays) {
  Record& r = record(slab);
  uint32_t left = class_.objects_per_slab;
  for (uint32_t w = 0; left > 0; ++w) {
    const uint32_t here = std::min<uint32_t>(left, 64);
    r.bits[w] = ~uint64_t{0} >> (64 - here);
    left -= here;
  }
  r.free = class_.objects_per_slab;
  r.used = static_cast<uint16_t>(zero ? 0 : class_.objects_per_slab);
  r.stays = stays;
  r.thinned = false;
  s_.counts.free_objects += r.free;
  if (stays != kGoes) ++s_.counts.populated_slabs;
  ++s_.counts.slabs;
  ++s_.counts.empty_slabs;
  s_.partial.use(pool_.words(id_), pool_.words_stride());  // the same ones for each slab
  s_.thinned.use(pool_.words_of_thinned(id_), pool_.words_stride());
  s_.partial.insert(slab);
}

// Populated slabs: taken and given their memory before anybody needs them, and kept.

uint32_t SlabArea::slabs_for(uint64_t objects) const {
  const uint64_t slabs =
      objects / class_.objects_per_slab + (objects % class_.objects_per_slab != 0);
  return static_cast<uint32_t>(std::min<uint64_t>(slabs, SlabPool::kNone));
}

void SlabArea::let_go_of(uint32_t slab) {
  Record& r = record(slab);
  r.stays = kGoes;
  --s_.counts.populated_slabs;
  if (r.free == class_.objects_per_slab) set_free(slab, r, r.free);
}

// The area's lock is open while the system has its time.
bool SlabArea::populate_slab() {
  uint32_t slab;
  {
    const Lock lock(s_.mutex);
    slab = take_slab(kPopulated);
    if (slab == SlabPool::kNone) return false;
  }
  const size_t used =
      round_up(size_t{class_.objects_per_slab} * class_.object_bytes, memory::page_bytes());
  if (memory::populate(reinterpret_cast<void*>(pool_.start_of(slab)), used)) return true;
  const Lock lock(s_.mutex);
  let_go_of(slab);
  return false;
}

// No more than so many stay; those on huge pages of the system's pool do, as the system does not
// take back parts of such pages.
void SlabArea::let_go(uint32_t slabs) {
  const Lock lock(s_.mutex);
  for (uint32_t unit = pool_.fresh();
       unit > pool_.first_unit() && s_.counts.populated_slabs > slabs;) {
    --unit;
    const bool is_slab = pool_.slab_of(id_, pool_.start_of(unit)) == unit;
    if (is_slab && record(unit).stays == kPopulated) let_go_of(unit);
  }
}

uint64_t SlabArea::populate(uint64_t objects) {
  if (objects > ~promised()) return 0;
  const auto before = static_cast<uint32_t>(statistics().populated_slabs);
  const uint32_t last = slabs_for(promised() + objects);
  for (uint32_t slabs = before; slabs < last; ++slabs) {
    if (populate_slab()) continue;
    let_go(before);
    return 0;
  }
  s_.promised += objects;
  return objects;
}

uint64_t SlabArea::populate_on_huge_pages(uint64_t objects) {
  if (objects > ~promised()) return 0;
  const Lock lock(s_.mutex);
  const auto before = static_cast<uint32_t>(s_.counts.populated_slabs);
  const uint32_t last = slabs_for(promised() + objects);
  uint32_t got = last - before;
  const uint32_t first = pool_.take_on_huge_pages(id_, class_.units, got);
  if (first == SlabPool::kNone) return 0;
  // The system's pool has set the pages aside for us, so it refuses none.
  memory::populate(reinterpret_cast<void*>(pool_.start_of(first)), got * slab_bytes());
  for (uint32_t i = 0; i < got; ++i) adopt(first + i * class_.units, true, kOnHugePages);
  const uint64_t room = s_.counts.populated_slabs * class_.objects_per_slab;
  const uint64_t provided = std::min(objects, room - promised());
  s_.promised += provided;
  return provided;
}

void SlabArea::unpopulate(uint64_t objects) {
  s_.promised -= objects;
  let_go(slabs_for(promised()));
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/slab_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pktmalloc {
namespace {

// The stretch of units grows by a quarter: small programs use little, and committed memory counts
// against RLIMIT_DATA and overcommit; larger steps save too few calls.
constexpr size_t kStepLeast = size_t{256} << 10;
constexpr size_t kStepMost = size_t{16} << 20;

constexpr size_t kPurgeBytes = size_t{256} << 10;  // in one system call: about 20 us
// All may be locked: after four steps in vain, a MiB, the system is not asked for so long. Less
// does not keep a process awake (ageing.h).
constexpr uint32_t kRefusedTicks = 64;
// Each run takes two of the 65,530 mappings that a process may have.
constexpr uint32_t kWithdrawnRuns = 1000;

}  // namespace

size_t SlabPool::record_bytes(size_t bytes, unsigned unit_shift) {
  return ((bytes >> unit_shift) / 64 + 1) * round_up(kChapter, memory::page_bytes());
}

void SlabPool::start(const Config& config, MemoryLimit& limit) {
  mutex.set_rank(LockRank::kPool + config.rank);
  config_ = config;
  limit_ = &limit;
  chapter_bytes_ = round_up(kChapter, memory::page_bytes());
  const bool huge = config.huge_pages != HugePages::kNever;
  const size_t map_most = round_up(units_in(config.most) * sizeof(Entry), unit_bytes());
  first_ = units_in(map_most);
  map_memory_.start(base(), map_most, huge);
  units_.start(start_of(first_), bytes_in(units_in(config.most) - first_), huge);
  records_.start(config.records, record_bytes(config.most, config.unit_shift), huge);
  const Lock lock(mutex);
  grows_ = true;
  huge_from_ = refused_from_ = kNone;
  chapters_ = records_.at(0) - first_ / 64 * chapter_bytes_;
  empty_.use(words(kEmptySet), chapter_bytes_);
  purged_.use(words(kPurgedSet), chapter_bytes_);
}

void SlabPool::set_fresh(uint32_t fresh) {
  counts_.used.store(bytes_in(fresh - first_), std::memory_order_relaxed);
}

void SlabPool::set_entries(uint32_t unit, uint32_t units, unsigned owner, unsigned back) {
  const Entry entry{static_cast<uint8_t>(owner), static_cast<uint8_t>(back)};
  for (Entry* at = map() + unit; at < map() + unit + units; ++at) {
    std::atomic_ref(*at).store(entry, std::memory_order_release);
  }
}

// False when the system refuses memory for states. What a block finds empty is no growth: large
// ones come and go.
bool SlabPool::own(ClassId id, uint32_t unit, uint32_t units) {
  const size_t bytes = bytes_in(units);
  if (has_states() && !config_.states->open(id, start_of(unit), bytes)) return false;
  if (id == kNoClass) return set_block(unit, 0, units), true;
  for (uint32_t i = 0; i < units; ++i) set_entries(unit + i, 1, index(id), i);
  counts_.taken.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

// Takes empty and purged units out of their sets; how many were empty. Lines that others write,
// such as the share of blocks, are touched only where that is needed.
uint32_t SlabPool::leave_sets(uint32_t unit, uint32_t units) {
  const uint32_t empty = empty_.count(unit, units);
  uint32_t of_blocks = empty;
  for (uint32_t i = unit; empty != 0 && i < unit + units; ++i) {
    if (former_of(entry(i)) == kNoClass || !empty_.contains(i)) continue;
    latest_share(i).empty_bytes -= unit_bytes();
    --of_blocks;
  }
  if (of_blocks != 0) shares_[index(kNoClass)].empty_bytes -= bytes_in(of_blocks);
  empty_.erase(unit, units);
  purged_.erase(unit, units);
  return empty;
}

void SlabPool::put_purged(uint32_t unit, uint32_t units) {
  purged_.insert(unit, units);
  runs_.note_longer(unit);
}

// The same class, or none, had them last.
void SlabPool::put_empty(uint32_t unit, uint32_t units) {
  empty_.insert(unit, units);
  empty_runs_.note_longer(unit);
  runs_.note_longer(unit);
  latest_share(unit).empty_bytes += bytes_in(units);
}

SlabPool::Taken SlabPool::take(ClassId id, uint32_t units) {
  Taken taken{};
  {
    const Lock lock(mutex);
    taken.unit = units == 1 ? empty_.lowest() : empty_runs_.lowest(units, empty_, empty_, fresh());
    if (taken.unit == kNone) taken.unit = open(id, units);
    if (taken.unit == kNone) return taken;
    taken.clean = leave_sets(taken.unit, units) == 0;
    empty_low_.record(empty_.count());
  }
  if (!own(id, taken.unit, units)) return give(id, taken.unit, units), Taken{kNone, false};
  if (config_.zeroes && !taken.clean && id != kNoClass) {
    memset(at(taken.unit), 0, bytes_in(units));
    taken.clean = true;
  }
  return taken;
}

// Finds units that are purged, empty or fresh, at least one not empty, and gets the memory that
// they lack. They stay in their sets; fresh ones come to the purged ones.
uint32_t SlabPool::open(ClassId id, uint32_t units) {
  uint32_t unit = runs_.lowest(units, empty_, purged_, fresh());
  if (unit == kNone) {
    unit = fresh();
    while (unit > first_ && (empty_.contains(unit - 1) || purged_.contains(unit - 1))) --unit;
  }
  return open_at(id, unit, units) ? unit : kNone;
}

bool SlabPool::open_at(ClassId id, uint32_t unit, uint32_t units) {
  const uint32_t fresh = this->fresh(), end = unit + units, used = std::min(end, fresh);
  const uint64_t more = bytes_in(units - empty_.count(unit, used - unit));
  if (!limit_->take(more)) return false;
  if ((end > fresh && (!grows_ || !grow(id, end))) ||
      (withdrawn_at_ != 0 && used > unit && !make_usable(unit, used))) {
    limit_->give(more);
    return false;
  }
  if (end > fresh) {
    put_purged(fresh, end - fresh);
    set_fresh(end);
  }
  counts_.open.fetch_add(more, std::memory_order_relaxed);
  if (id == kNoClass) {
    const auto live = units + units_in(counts_.block_bytes.load(std::memory_order_relaxed));
    retaken_ = std::max(retaken_, std::min(retaken_ + units_in(more) - (end - used), live));
    counts_.taken.fetch_add(more, std::memory_order_relaxed);
  }
  return true;
}

// Of purged units some may be unusable since decommit(); to say so of all costs the same. Where the
// process has no mapping left for a part of a run, the whole run takes none.
bool SlabPool::make_usable(uint32_t unit, uint32_t end) {
  if (commit(unit, end)) return true;
  while (unit > first_ && purged_.contains(unit - 1)) --unit;
  while (end < fresh() && purged_.contains(end)) ++end;
  return commit(unit, end);
}

bool SlabPool::commit(uint32_t unit, uint32_t end) {
  const size_t bytes = bytes_in(end - unit);
  if (!memory::commit(at(unit), bytes)) return false;
  const bool huge = config_.huge_pages == HugePages::kMadvise && unit >= huge_from_;
  if (huge || config_.huge_pages == HugePages::kNever) {
    memory::ask_for_huge_pages(at(unit), bytes, huge);
  }
  return true;
}

// In steps. The pool begins with small pages and gets huge ones from the step on that is a whole
// one: a quarter of what there is, so rounding costs at most as much.
bool SlabPool::grow(ClassId id, uint32_t end) {
  if (end <= units_end()) return true;
  const uint32_t before = units_end(), last = first_ + units_in(units_.most());
  if (end > last) return false;
  const size_t step = std::clamp(units_.bytes() / 4, kStepLeast, kStepMost);
  const bool huge = config_.huge_pages == HugePages::kMadvise && step >= memory::huge_page_bytes();
  const uint32_t whole = huge ? units_in(memory::huge_page_bytes()) : 1;
  const auto generous = static_cast<uint32_t>(
      std::clamp<size_t>(round_up(before + units_in(step), whole), end, last));
  // Under a tight limit the system may refuse a step but grant a single slab.
  if (!grow_to(generous) && !grow_to(end)) return false;
  ++shares_[index(id)].commits;
  if (huge) {
    memory::ask_for_huge_pages(at(before), bytes_in(units_end() - before), true);
    huge_from_ = std::min(huge_from_, before);
  }
  return true;
}

// Refused: bookkeeping becomes what it was, no less. A set may look at the words of units that are
// no more.
bool SlabPool::grow_to(uint32_t end) {
  const size_t map_bytes = map_memory_.bytes(), record_bytes = records_.bytes();
  const bool grown = map_memory_.grow_to(end * sizeof(Entry)) &&
                     records_.grow_to(records_to(end)) && units_.grow_to(bytes_in(end - first_));
  if (!grown) {
    map_memory_.shrink_to(map_bytes);
    records_.shrink_to(record_bytes);
  }
  if (units_.bytes() != 0) note_mapped();
  return grown;
}

void SlabPool::note_mapped() {
  *config_.bytes = bytes_in(units_end());
  const uint64_t bookkeeping = map_memory_.bytes() + records_.bytes();
  counts_.bookkeeping.store(bookkeeping, std::memory_order_relaxed);
  counts_.mapped.store(units_.bytes() + bookkeeping, std::memory_order_relaxed);
}

// Page by page, as far as the limit, the system and its pool go. Such pages must never be purged in
// parts: the system would clear none of it, or more. So the last slab ends on small pages, and what
// it cannot get stays nobody's.
uint32_t SlabPool::take_on_huge_pages(ClassId id, uint32_t units, uint32_t& slabs) {
  const Lock lock(mutex);
  const uint64_t page = memory::huge_page_bytes(), slab = bytes_in(units);
  const uint64_t wanted = std::exchange(slabs, 0) * slab;
  const uint32_t fresh = this->fresh(), unit = fresh + units_in(-start_of(fresh) & (page - 1));
  uint64_t got = 0;
  const auto get = [&](uint64_t more, bool huge) NOT_FOLLOWED {
    if (!limit_->take(more)) return false;
    if (grow_to(unit + units_in(got + more)) &&
        (!huge || memory::take_from_pool(at(unit) + got, more))) {
      got += more;
      return true;
    }
    limit_->give(more);
    return false;
  };
  while (grows_ && wanted - got >= page && get(page, true)) continue;
  if (got == 0) return kNone;
  if (got % slab != 0) get(slab - got % slab, false);
  if (unit > fresh) put_purged(fresh, unit - fresh);
  set_fresh(unit + units_in(got));
  counts_.open.fetch_add(got, std::memory_order_relaxed);
  while (slabs < got / slab && own(id, unit + slabs * units, units)) ++slabs;
  return slabs > 0 ? unit : kNone;
}

void SlabPool::put_back(ClassId id, uint32_t unit, uint32_t units) {
  set_entries(unit, units, index(kNoClass), index(id));
  put_empty(unit, units);
  if (id == kNoClass) freed_blocks_end_ = std::max(freed_blocks_end_, unit + units);
}

// It had so many units; 0: it is new. What has none any more keeps the number on record.
void SlabPool::set_block(uint32_t unit, uint32_t had, uint32_t units) {
  if (units > had) set_entries(unit + had, units - had, index(kNoClass), kBlockGoesOn);
  if (units != 0) block_units(unit) = units;
  set_entries(unit, 1, index(kNoClass), units != 0 ? kBlockBegins : kBlockBegan);
  counts_.block_bytes.fetch_add(bytes_in(units) - bytes_in(had), std::memory_order_relaxed);
  if (had == 0) counts_.blocks_taken.fetch_add(1, std::memory_order_relaxed);
  if (units == 0) counts_.blocks_given.fetch_add(1, std::memory_order_relaxed);
}

uint32_t SlabPool::resize_block(uintptr_t address, uint32_t units) {
  const Lock lock(mutex);
  const uint32_t unit = units_in(address - base()), had = block_at(address);
  if (had == 0) return 0;
  if (units < had) put_back(kNoClass, unit + units, had - units);
  if (units > had) {
    const uint32_t end = unit + had, more = units - had, used = std::min(more, fresh() - end);
    if (empty_.count(end, used) + purged_.count(end, used) != used) return 0;
    if (!open_at(kNoClass, end, more)) return 0;
    leave_sets(end, more);
    empty_low_.record(empty_.count());
  }
  set_block(unit, had, units);
  return had;
}

// It looks at so many units at most, lest a call last long where classes had what lies above; the
// next one goes on.
void SlabPool::purge_excess(uint32_t most) {
  const Lock lock(mutex);
  for (uint32_t looks = kMostBlock; looks > 0 && most > 0 && huge_from_ == kNone; --looks) {
    const uint64_t lives = counts_.block_bytes.load(std::memory_order_relaxed);
    const uint64_t needed = std::max({lives, bytes_in(retaken_), kMostOfBlocks});
    const uint64_t waits = share(kNoClass).empty_bytes;
    const uint32_t end = empty_.highest(freed_blocks_end_) + 1;  // 0: there is none
    if (end == 0 || waits <= needed) return;
    const uint32_t excess = std::min({most, kMostBlock, units_in(waits - needed)});
    uint32_t low = end;
    while (end - low < excess && low > first_ && empty_.contains(low - 1) &&
           former_of(entry(low - 1)) == kNoClass)
      --low;
    freed_blocks_end_ = std::min(low, end - 1);
    if (low < end) purge({low, end - low});
    most -= end - low;
  }
}

uint32_t SlabPool::tick(bool trims) {
  const Lock lock(mutex);
  const uint32_t unneeded = empty_low_.tick(empty_.count());
  retaken_ -= retaken_ / 8;
  if (refused_ticks_ > 1 && !trims) return --refused_ticks_, 0;
  if (refused_units_.load(std::memory_order_relaxed) != 0) set_refused(kNone, 0, 0);
  return unneeded;
}

// Where huge pages may be, only groups of which no unit is owned: else the system would split one
// that is in use. Such a group goes as a whole, and elsewhere a few units.
SlabPool::Run SlabPool::run_to_purge(uint32_t most, bool splits) {
  const uint32_t fresh = this->fresh();
  const uint32_t group = units_in(memory::huge_page_bytes());
  uint32_t high = empty_.highest(refused_from_);
  while (!splits && high != kNone && high >= huge_from_) {
    const uint32_t begin = std::max(high / group * group, first_);
    const uint32_t end = std::min(high / group * group + group, fresh);
    uint32_t unit = begin;
    while (unit < end && (empty_.contains(unit) || purged_.contains(unit))) ++unit;
    if (unit == end) return {begin, end - begin};
    high = empty_.highest(begin);
  }
  if (high == kNone || most == 0) return {0, 0};
  const uint32_t step = std::max(units_in(kPurgeBytes), 1U);
  uint32_t low = high;
  while (high - low + 1 < std::min(most, step) && low > first_ && empty_.contains(low - 1)) --low;
  return {low, high - low + 1};
}

uint32_t SlabPool::purge_some(uint32_t most, bool splits) {
  const Lock lock(mutex);
  const Run run = run_to_purge(most, splits);
  // A thread in strict mode may not ask; that is no refusal of the system's.
  if (run.count == 0 || memory::in_strict_mode) return 0;
  const uint32_t count = empty_.count(run.low, run.count);
  if (purge(run)) return count;
  refused_from_ = run.low;
  const uint32_t before = refused_units_.fetch_add(count, std::memory_order_relaxed);
  if (bytes_in(before + count) >= 4 * kPurgeBytes) set_refused(0, kNone, kRefusedTicks);
  return count;
}

// Of empty and purged units, no more than a block has. The lock is open around the system call,
// while they are in no set, but no fork comes between, which begins with the lock of ageing.
bool SlabPool::purge(Run run) {
  bool was_empty[kMostBlock]{};
  for (uint32_t i = 0; i < run.count; ++i) was_empty[i] = empty_.contains(run.low + i);
  const uint32_t count = leave_sets(run.low, run.count);
  mutex.unlock();
  const size_t run_bytes = bytes_in(run.count);
  const bool gone = memory::purge(at(run.low), run_bytes);
  if (has_states()) config_.states->purge(start_of(run.low), run_bytes);
  mutex.lock();
  ++latest_share(run.low).purges;
  for (uint32_t i = 0; i < run.count; ++i) {
    const uint32_t unit = run.low + i;
    if (gone && was_empty[i]) latest_share(unit).purged_total_bytes += unit_bytes();
    gone || !was_empty[i] ? put_purged(unit, 1) : put_empty(unit, 1);
  }
  if (!gone) return false;
  empty_low_.remove(count);
  const uint64_t bytes = bytes_in(count);
  counts_.open.fetch_sub(bytes, std::memory_order_relaxed);
  counts_.purged.fetch_add(bytes, std::memory_order_relaxed);
  limit_->give(bytes);
  return true;
}

bool SlabPool::lets_purge_pages(uint32_t unit) {
  const Lock lock(mutex);
  return unit < huge_from_;
}

void SlabPool::purge_pages(ClassId id, uintptr_t start, size_t bytes) {
  const bool gone = memory::purge(reinterpret_cast<void*>(start), bytes);
  const Lock lock(mutex);
  PoolShare& share = shares_[index(id)];
  ++share.purges;
  if (!gone) return;
  share.purged_total_bytes += bytes;
  counts_.purged.fetch_add(bytes, std::memory_order_relaxed);
}

void SlabPool::decommit() {
  const Lock lock(mutex);
  if (units_.bytes() == 0) return;
  uint32_t fresh = this->fresh(), top = fresh;
  while (top > first_ && purged_.contains(top - 1)) --top;
  *config_.bytes = bytes_in(top);  // before the first address can be somebody else's
  units_.shrink_to(bytes_in(top - first_));
  if (units_end() == top) {  // else the system refused, and some may be unusable
    while (fresh > top) purged_.erase(--fresh);
    set_fresh(fresh);
  }
  note_mapped();
  const uint64_t purged = counts_.purged.load(std::memory_order_relaxed);
  if (purged == withdrawn_at_) return;
  withdrawn_at_ = purged;
  uint32_t runs = 0;
  for (uint32_t unit = first_, end; unit < fresh && runs < kWithdrawnRuns; unit = end + 1) {
    for (end = unit; end < fresh && purged_.contains(end);) ++end;
    if (end == unit) continue;
    // Somebody may look at any object that was in use.
    memory::withdraw(at(unit), bytes_in(end - unit), true);
    ++runs;
  }
}

uint64_t SlabPool::resident_bytes(bool with_blocks) const {
  const uint32_t fresh = this->fresh();
  const auto counts = [&](uint32_t unit) {
    return with_blocks || entry(unit).owner != 0 || former_of(entry(unit)) != kNoClass;
  };
  uint64_t sum = 0;
  for (uint32_t unit = first_, end; unit < fresh; unit = end + 1) {
    for (end = unit; end < fresh && counts(end);) ++end;
    if (end > unit) sum += memory::resident_bytes(at(unit), bytes_in(end - unit));
  }
  return sum;
}

}  // namespace pktmalloc

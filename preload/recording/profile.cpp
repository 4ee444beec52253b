// SPDX-License-Identifier: MIT
#include "preload/recording/profile.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/formats/bytes.h"
#include "preload/formats/format.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/recording/recording.h"
#include "preload/recording/sample_table.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {
namespace {

constexpr unsigned kBucketBits = 16;
// Address space for 5000 stacks or 10000 sums a MiB, and for 18000 live samples a MiB.
constexpr size_t kTableBytes = size_t{128} << 20;
constexpr size_t kSampleBytes = size_t{8} << 30;

constinit Mutex mutex{part_rank(PartId::profile)};  // guards what follows
constinit SampleTable live;
constinit GrowingArray<ProfileSums> sums;  // element 0 is none
constinit Peak peak;
uint32_t* buckets = nullptr;
constinit RecordedArray<recording::Place, recording::ChunkKind::kPlaces> recorded_places;
constinit RecordedArray<uint64_t, recording::ChunkKind::kFrames> recorded_frames;
uint32_t frames_recorded = 0;
uint64_t lost = 0;
constinit std::atomic<bool> active = false;  // stays

// Between the fork handlers the thread already holds the lock.
struct ProfileLock : Lock {
  ProfileLock() : Lock(mutex, !this_thread.forking) {}
};

// Of threads that are told apart, a stack is the number of the calls' stack and the thread's words.
StackId stack_at(Site site) {
  const bool unwinds = options().profile_stacks == StackWalk::kUnwind;
  const StackId calls = unwinds ? capture(site) : capture_by_frame_pointers(site);
  if (!options().profile_threads || memory::in_strict_mode) return calls;
  uintptr_t name[2] = {};
  prctl(PR_GET_NAME, name);
  const uintptr_t thread = kThreadMark | static_cast<uintptr_t>(syscall(SYS_gettid));
  const Frame words[1 + kThreadWords] = {{calls, 0}, {thread, 0}, {name[0], 0}, {name[1], 0}};
  return intern(words, 1 + kThreadWords, is_cut(calls));
}

// The innermost frames that count, without this library's own; behind them the words of the thread,
// if it is told apart.
unsigned profile_frames(StackId stack, uintptr_t* frames, unsigned most) {
  uintptr_t words[1 + kThreadWords] = {};
  const bool told = frames_of(stack, words, 1 + kThreadWords) > 1 && is_thread(words[1]);
  const unsigned behind = told ? kThreadWords : 0;
  const unsigned count =
      frames_of(told ? static_cast<StackId>(words[0]) : stack, frames, most - behind);
  unsigned own = 0;
  while (own + 1 < count && in_this_library(frames[own])) ++own;
  memmove(frames, frames + own, (count - own) * sizeof *frames);
  memcpy(frames + count - own, words + 1, behind * sizeof *frames);
  return count - own + behind;
}

void record_place(uint32_t number) {
  recording::Place* const place = recorded_places.add(number);
  if (place == nullptr) return;
  const StackId stack = sums[number].stack;
  const uint32_t room = recording::kFramesInChunk - frames_recorded % recording::kFramesInChunk;
  if (stack_depth + kThreadWords > room) frames_recorded += room;
  if (uint64_t* const frames = recorded_frames.add(frames_recorded)) {
    place->first_frame = frames_recorded;
    place->frame_count = profile_frames(stack, frames, stack_depth + kThreadWords);
    frames_recorded += place->frame_count;
  }
  place->is_cut = is_cut(stack);
  recording_here()->places.store(number + 1, std::memory_order_release);
}

// After each change.
void record_sums(uint32_t number) {
  recording::Place* const place = recorded_places.find(number);
  if (place == nullptr) return;
  const ProfileSums& s = sums[number];
  record_held(*place, place->sums.peak, s.peaks);
  place->sums.live = s.live;
  place->sums.all = s.all;
  place->sums.temporary = s.temporary;
  recording_here()->profile_peak.store(peak.number(), std::memory_order_release);
}

// The number of the stack's sums; 0: no memory.
uint32_t sums_of(StackId stack) {
  uint32_t& first = buckets[(stack * 0x9E3779B1U) >> (32 - kBucketBits)];
  for (uint32_t i = first; i != 0; i = sums[i].next) {
    if (sums[i].stack == stack) return i;
  }
  const uint32_t number = sums.size();
  ProfileSums* const added = sums.add();
  if (added == nullptr) return 0;
  added->stack = stack;
  added->next = first;
  first = number;
  record_place(number);
  return number;
}

Amount amount_of(const Sample& sample) {
  const double p = sample_probability(sample.sampled_bytes);
  const double bytes = static_cast<double>(sample.bytes);
  return {1 / p, bytes / p, bytes * bytes * (1 - p) / (p * p), 1};
}

void remove_live(const Sample& sample) {
  heap.uncount_outside(sample.id);
  ProfileSums& s = sums[sample.owner];
  const Amount amount = amount_of(sample);
  peak.remove(s.peaks, s.live, amount, amount.bytes);
  if (sample.is_temporary) s.temporary += amount;
  record_sums(sample.owner);
}

// Under the lock. True for the first sample that is lost.
bool lose() {
  if (recording::Header* const header = recording_here()) header->profile_lost = lost + 1;
  return lost++ == 0;
}

// True for the first sample that is lost.
bool add_live(void* p, const Sample& sample, bool is_new) {
  ProfileSums& s = sums[sample.owner];
  const Amount amount = amount_of(sample);
  if (is_new) s.all += amount;
  if (!live.put(p, sample)) return lose();
  heap.count_outside(sample.id, is_new);
  peak.add(s.peaks, s.live, amount, amount.bytes);
  record_sums(sample.owner);
  return false;
}

void taken(void* p, const Sample& from_sampler, Site site) {
  const KeepErrno keep_errno;
  Sample sample = from_sampler;
  const StackId stack = stack_at(site);
  sample.born = thread_allocations();  // the unwinder's own lie behind it
  bool first_lost = false, new_place = false;
  {
    const ProfileLock lock;
    const uint32_t before = sums.size();
    // A child of vfork or a libc destructor freed it behind our back.
    if (Sample stale; live.take(p, stale)) remove_live(stale);
    sample.owner = sums_of(stack);
    first_lost = sample.owner == 0 ? lose() : add_live(p, sample, true);
    new_place = sums.size() > before;
  }
  if (first_lost)
    message("no memory for the heap profile: samples are lost from here on; the program goes on");
  if (new_place) record_mapped_files();
}

// Samples that could not be kept.
uint64_t profile_lost() {
  const ProfileLock lock;
  return lost;
}

// For a report, one at a time. Stacks so far: 1 to profile_stacks() - 1; what they held at the
// latest peak stays as it is until the next call. Any thread; copies each as a whole.
uint32_t profile_stacks() {
  const ProfileLock lock;
  peak.pin();
  return sums.size();
}

ProfileSums profile_sums(uint32_t number) {
  const ProfileLock lock;
  ProfileSums s = sums[number];
  s.peak = peak.at_pinned(s.peaks, s.live);
  return s;
}

// A program with little room keeps most of it.
size_t room(size_t bytes) { return at_most(at_most(bytes, RLIMIT_AS), RLIMIT_DATA); }

bool start_tables() {
  // 64 bytes for each sample of 1 TiB: a program may limit its addresses later.
  const size_t most = (size_t{1} << 46) / options().profile_rate();
  buckets = static_cast<uint32_t*>(map_lazily(sizeof *buckets << kBucketBits));
  start_stacks(kTableBytes);
  return buckets != nullptr && live.start(room(std::min(kSampleBytes, most))) &&
         sums.start(room(kTableBytes)) && sums.add() != nullptr;
}

EVERY_PROCESS void load() {
  if (options().profile_path == nullptr && !options().profile_leaks) return;
  if (const char* const why = prepare_profile()) return message("PKTMALLOC_PROFILE %s", why);
  if (recording::Header* const header = recording_here()) {
    header->profile_rate = options().profile_rate();
  }
  record_mapped_files();
  record_report(recording::Content::kProfile, options().profile_path, 1);
  begin_profile();
}

// Of a report of what is live at exit.
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

// False: a name is the linker's.
bool write_place(Writer& out, const ProfileSums& place, Demangler demangler) {
  out.print("  ");
  write_amount(out, place.live);
  out.print(", allocated by\n");
  uintptr_t frames[kStackFrames];
  const unsigned count = std::min(profile_frames(place.stack, frames, kStackFrames), kFrames);
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

EVERY_PROCESS bool profiling() { return active.load(std::memory_order_acquire); }

bool profile_released(void* p, Sample& sample) {
  if (!live.may_hold(p)) return false;
  const uint64_t now = thread_allocations();
  const ProfileLock lock;
  if (!live.take(p, sample)) return false;
  sample.is_temporary = now != 0 && now - sample.born <= kFewAllocations;
  remove_live(sample);
  return true;
}

void profile_kept(void* p, const Sample& before, size_t bytes) {
  Sample sample = before;
  sample.bytes = bytes;
  sample.is_temporary = false;
  const ProfileLock lock;
  if (before.is_temporary) sums[before.owner].temporary -= amount_of(before);
  add_live(p, sample, false);
}

EVERY_PROCESS ProfileWindow profile_window() {
  const auto address = [](const void* p) { return reinterpret_cast<uint64_t>(p); };
  return {address(&live), address(&sums), address(&stack_store)};
}

const char* prepare_profile() {
  if (PKTMALLOC_CHECKED) return "does nothing in libpktmalloc-checked.so";
  if (!heap.started()) return "does nothing here: the system refused the heap's address space";
  if (profiling()) return nullptr;
  if (sampling) return "does nothing beside PKTMALLOC_SAMPLE_GUARD";
  if (sums.size() == 0 && !start_tables()) {
    return "does nothing here: the system refused the memory for it";
  }
  stack_depth = static_cast<uint32_t>(options().profile_depth);
  load_unwinder();
  return nullptr;
}

const char* begin_profile() {
  if (profiling()) return pause_sampling(false) ? nullptr : "is under way already";
  active.store(true, std::memory_order_release);
  sample(options().profile_rate(), SampleUnit::kByte, taken);
  return nullptr;
}

const char* end_profile() {
  return profiling() && pause_sampling(true) ? nullptr : "is not under way";
}

void write_profile(Writer& out) {
  const uint32_t end = profile_stacks();
  PlaceSums all{};
  for (uint32_t i = 1; i < end; ++i) all += profile_sums(i);
  write_profile_head(out, {this_process(), options().profile_rate(), profile_lost()}, all);
  for (uint32_t i = 1; i < end; ++i) {
    const ProfileSums s = profile_sums(i);
    uintptr_t frames[kMostFrames + kThreadWords];
    const unsigned count = profile_frames(s.stack, frames, kMostFrames + kThreadWords);
    write_profile_place(out, s, {frames, count, is_cut(s.stack)});
  }
  out.print(kProfileMappings);
  write_mapped_files(out);
  out.print(kProfileEnd);
}

void write_leaks(Writer& out, bool has_room) {
  Amount all{};
  ProfileSums largest[kPlaces + 1];
  unsigned place_count = 0;
  const uint32_t end = profile_stacks();
  for (uint32_t i = 1; i < end; ++i) {
    const ProfileSums s = profile_sums(i);
    if (s.live.samples == 0) continue;
    all += s.live;
    unsigned at = std::min(place_count++, kPlaces);
    for (; at > 0 && largest[at - 1].live.bytes < s.live.bytes; --at) largest[at] = largest[at - 1];
    largest[at] = s;
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

constinit const Part profile_part{.load = load, .mutexes = {&mutex}};

}  // namespace pktmalloc

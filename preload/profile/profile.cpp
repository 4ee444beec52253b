// SPDX-License-Identifier: MIT
#include "preload/profile/profile.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/base/growing_array.h"
#include "preload/base/lock_rank.h"
#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/process/recording.h"
#include "preload/process/thread.h"
#include "preload/profile/mapped_files.h"
#include "preload/profile/sample_table.h"
#include "preload/profile/sampler.h"
#include "preload/stacks/frame_pointers.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/keep_errno.h"

namespace pktmalloc {
namespace {

constexpr unsigned kBucketBits = 16;
// Address space for 5000 stacks a MiB, 25000 live samples a MiB, 10000 sums a MiB.
constexpr size_t kStackBytes = size_t{128} << 20;
constexpr size_t kSampleBytes = size_t{8} << 30;
constexpr size_t kSumBytes = size_t{128} << 20;

constinit Mutex mutex{lock_rank(OuterRank::kProfile)};  // guards what follows
constinit SampleTable live;
constinit GrowingArray<ProfileSums> sums;  // element 0 is none
constinit RecordedArray<recording::Place> recorded{recording::ChunkKind::kPlaces};
uint32_t* buckets = nullptr;
uint64_t lost = 0;
constinit std::atomic<bool> active = false;  // stays
bool has_tables = false;
bool ended = false;  // no samples are taken for now

// Between the fork handlers the thread already holds the lock.
struct ProfileLock : Lock {
  ProfileLock() : Lock(mutex, !this_thread.forking) {}
};

StackId stack_at(Site site) {
  if (options().profile_stacks == StackWalk::kUnwind) return capture(site);
  uintptr_t frames[kStackFrames];
  return intern(frames, walk_frame_pointers(site, frames));
}

void record_place(uint32_t number) {
  recording::Place* const place = recorded.add(number);
  if (place == nullptr) return;
  place->frame_count = profile_frames(sums[number].stack, place->frames);
  recording_here()->places.store(number + 1, std::memory_order_release);
}

void record_sums(uint32_t number) {
  if (recording::Place* const place = recorded.find(number)) place->sums = sums[number];
}

// The number of the stack's sums; 0: no memory.
uint32_t sums_of(StackId stack) {
  uint32_t& first = buckets[(stack * 0x9E3779B1U) >> (32 - kBucketBits)];
  for (uint32_t i = first; i != 0; i = sums[i].next) {
    if (sums[i].stack == stack) return i;
  }
  if (!sums.add()) return 0;
  const uint32_t number = sums.size() - 1;
  sums[number].stack = stack;
  sums[number].next = first;
  first = number;
  record_place(number);
  return number;
}

// `sign`: it comes or goes. Without samples there are no rounding errors either.
void add_live(const Sample& sample, double sign) {
  ProfileSums& s = sums[sample.owner];
  const double p = sample_probability(sample.sampled_bytes);
  const double bytes = static_cast<double>(sample.bytes);
  s.live_samples += sign > 0 ? 1 : ~uint64_t{0};
  s.live_objects += sign / p;
  s.live_bytes += sign * bytes / p;
  s.live_variance += sign * bytes * bytes * (1 - p) / (p * p);
  if (s.live_samples == 0) s.live_objects = s.live_bytes = s.live_variance = 0;
  record_sums(sample.owner);
}

void add_all(const Sample& sample) {
  ProfileSums& s = sums[sample.owner];
  const double p = sample_probability(sample.sampled_bytes);
  const double bytes = static_cast<double>(sample.bytes);
  ++s.samples;
  s.objects += 1 / p;
  s.bytes += bytes / p;
  s.variance += bytes * bytes * (1 - p) / (p * p);
}

// Under the lock. True for the first sample that is lost.
bool lose() {
  if (recording::Header* const header = recording_here()) header->profile_lost = lost + 1;
  return lost++ == 0;
}

bool keep(void* p, const Sample& sample) {
  if (!live.put(p, sample)) return lose();
  add_live(sample, 1);
  return false;
}

void tell_full() {
  message("no memory for the heap profile: samples are lost from here on; the program goes on");
}

void taken(void* p, const Sample& from_sampler, Site site) {
  const KeepErrno keep_errno;
  Sample sample = from_sampler;
  const StackId stack = stack_at(site);
  bool first_lost = false;
  bool new_place = false;
  {
    const ProfileLock lock;
    const uint32_t before = sums.size();
    // A child of vfork or a libc destructor freed it behind our back.
    if (Sample stale; live.take(p, stale)) add_live(stale, -1);
    sample.owner = sums_of(stack);
    if (sample.owner == 0) {
      first_lost = lose();
    } else {
      add_all(sample);
      first_lost = keep(p, sample);
    }
    new_place = sums.size() > before;
  }
  if (first_lost) tell_full();
  if (new_place) record_mapped_files();
}

bool released(void* p, Sample& sample) {
  if (!live.may_hold(p)) return false;
  const ProfileLock lock;
  if (!live.take(p, sample)) return false;
  add_live(sample, -1);
  return true;
}

void kept(void* p, const Sample& sample) {
  const ProfileLock lock;
  keep(p, sample);
}

constexpr SampleHandlers kHandlers{taken, released, kept};

// A program with little room keeps most of it.
size_t at_most(size_t bytes) {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      bytes = std::min<size_t>(bytes, limit.rlim_cur / 32);
    }
  }
  return bytes;
}

bool start_tables() {
  buckets = static_cast<uint32_t*>(map_lazily(sizeof *buckets << kBucketBits));
  start_stacks(at_most(kStackBytes));
  return buckets != nullptr && live.start(at_most(kSampleBytes)) &&
         sums.start(at_most(kSumBytes)) && sums.add();
}

}  // namespace

bool profiling() { return active.load(std::memory_order_acquire); }

uint64_t profile_lost() {
  const ProfileLock lock;
  return lost;
}

uint32_t profile_stacks() {
  const ProfileLock lock;
  return sums.size();
}

ProfileSums profile_sums(uint32_t number) {
  const ProfileLock lock;
  return sums[number];
}

unsigned profile_frames(StackId stack, uintptr_t* frames) {
  const unsigned count = frames_of(stack, frames);
  unsigned own = 0;
  while (own + 1 < count && in_this_library(frames[own])) ++own;
  memmove(frames, frames + own, (count - own) * sizeof *frames);
  return count - own;
}

const char* prepare_profile() {
  if (PKTMALLOC_CHECKED) return "does nothing in libpktmalloc-checked.so";
  if (!heap.started()) return "does nothing here: the system refused the heap's address space";
  if (!profiling() && sampling) return "does nothing beside PKTMALLOC_SAMPLE_GUARD";
  if (!has_tables && !start_tables()) {
    return "does nothing here: the system refused the memory for it";
  }
  has_tables = true;
  if (!profiling()) load_unwinder();
  return nullptr;
}

const char* begin_profile() {
  if (profiling() && !ended) return "is under way already";
  ended = false;
  if (profiling()) {
    pause_sampling(false);
  } else {
    active.store(true, std::memory_order_release);
    sample(options().profile_rate, SampleUnit::kByte, kHandlers);
  }
  return nullptr;
}

const char* end_profile() {
  if (!profiling() || ended) return "is not under way";
  ended = true;
  pause_sampling(true);
  return nullptr;
}

namespace {

void load() {
  if (options().profile_path == nullptr && !options().profile_leaks) return;
  if (const char* const why = prepare_profile()) {
    message("PKTMALLOC_PROFILE %s", why);
  } else {
    active = true;
    if (recording::Header* const header = recording_here()) {
      header->profile_rate = options().profile_rate;
      record_mapped_files();
      if (options().profile_path != nullptr) {
        record_report(recording::Content::kProfile, options().profile_path, 1);
      }
    }
    sample(options().profile_rate, SampleUnit::kByte, kHandlers);
  }
}

void lock() AROUND_FORK {
  if (!profiling()) return;
  stop_unwinding();
  mutex.lock();
}

void unlock() AROUND_FORK {
  if (!profiling()) return;
  mutex.unlock();
  allow_unwinding();
}

}  // namespace

constinit const Part profile_part{
    .load = load,
    .lock = lock,
    .unlock = unlock,
};

}  // namespace pktmalloc

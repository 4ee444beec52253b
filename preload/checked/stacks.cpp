// SPDX-License-Identifier: MIT
#include "preload/checked/stacks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "preload/checked/mapping.h"
#include "sizeclass/clock.h"

namespace pktmalloc::checked {
namespace {

// The stacks, one behind the other; an id is the position in units. Entries never change once an
// id is known. Bucket heads are changed by exchange, so nobody waits.
constexpr size_t kUnit = 8;
constexpr unsigned kBucketBits = 16;
constexpr StackId kUnknown = 1;  // a stack without frames
char* store = nullptr;
size_t store_bytes = 0;
constinit std::atomic<size_t> used = 2 * kUnit;
std::atomic<StackId>* buckets = nullptr;

struct Place {
  std::atomic<uint32_t> version;  // odd: being written
  StackId id;
  Site site;
  uint32_t offsets[kStackFrames];  // of the words that hold frames 1 and up, from site.cfa
};
constexpr unsigned kPlaceBits = 13;
Place* places = nullptr;

using Backtrace = _Unwind_Reason_Code (*)(_Unwind_Trace_Fn, void*);
std::atomic<Backtrace> backtrace_of = nullptr;
_Unwind_Ptr (*ip_of)(_Unwind_Context*) = nullptr;
_Unwind_Word (*cfa_of)(_Unwind_Context*) = nullptr;

constinit std::atomic<int> unwinding_threads = 0;
constinit std::atomic<bool> forking = false;
constinit thread_local bool unwinding = false;

uint64_t mix(uint64_t a, uint64_t b) {
  const uint64_t x = (a ^ b) * 0x9E3779B97F4A7C15;
  return x ^ (x >> 29);
}

Stack* at(StackId id) { return reinterpret_cast<Stack*>(store + id * kUnit); }

StackId intern(const uintptr_t* frames, unsigned count) {
  if (store == nullptr) return kUnknown;
  uint64_t hash = count;
  for (unsigned i = 0; i < count; ++i) hash = mix(hash, frames[i]);
  std::atomic<StackId>& bucket = buckets[hash >> (64 - kBucketBits)];
  StackId first = bucket.load(std::memory_order_acquire);  // pairs with the exchange below
  for (StackId id = first; id != 0; id = at(id)->next) {
    if (at(id)->count == count && memcmp(at(id)->frames, frames, count * sizeof *frames) == 0) {
      return id;
    }
  }
  const size_t bytes = offsetof(Stack, frames) + count * sizeof *frames;
  const size_t offset = used.fetch_add(bytes, std::memory_order_relaxed);
  if (offset + bytes > store_bytes) return kUnknown;
  const StackId id = static_cast<StackId>(offset / kUnit);
  Stack* stack = at(id);
  stack->count = count;
  memcpy(stack->frames, frames, count * sizeof *frames);
  do {
    stack->next = first;
  } while (!bucket.compare_exchange_weak(first, id, std::memory_order_release));
  return id;
}

// What the unwinder found, from the frame of `site` outwards.
struct Trace {
  explicit Trace(Site from) : site(from) {}

  Site site;
  unsigned count = 0;
  bool words_known = true;  // every frame but the first is in the word in front of its cfa
  uintptr_t frames[kStackFrames];
  uint32_t offsets[kStackFrames];
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  Trace& trace = *static_cast<Trace*>(argument);
  const uintptr_t pc = ip_of(context);
  const uintptr_t cfa = cfa_of(context);
  if (trace.count == 0 && (pc != trace.site.pc || (trace.site.cfa != 0 && cfa != trace.site.cfa))) {
    return _URC_NO_REASON;
  }
  if (pc == 0 || trace.count == kStackFrames) return _URC_END_OF_STACK;
  const uintptr_t word = cfa - sizeof(uintptr_t);
  trace.words_known &= word - trace.site.cfa < UINT32_MAX || trace.count == 0;
  if (trace.count > 0 && trace.words_known) {
    trace.words_known = *reinterpret_cast<const uintptr_t*>(word) == pc;
  }
  trace.offsets[trace.count] = static_cast<uint32_t>(word - trace.site.cfa);
  trace.frames[trace.count++] = pc;
  return _URC_NO_REASON;
}

void unwind(Trace& trace) {
  const Backtrace backtrace = backtrace_of.load(std::memory_order_acquire);
  if (backtrace != nullptr && !unwinding) {
    unwinding = true;
    // Unwinders probe memory by system calls that libc makes cancellation points.
    int cancellable = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    unwinding_threads.fetch_add(1, std::memory_order_seq_cst);
    // Pairs with stop_unwinding(): one of the two sees the other.
    if (!forking.load(std::memory_order_seq_cst)) backtrace(visit, &trace);
    unwinding_threads.fetch_sub(1, std::memory_order_release);
    pthread_setcancelstate(cancellable, nullptr);
    unwinding = false;
  }
  if (trace.count > 0) return;
  trace.frames[0] = trace.site.pc;
  trace.count = 1;
  trace.words_known = false;
}

Place& place_of(Site site) { return places[mix(site.pc, site.cfa) >> (64 - kPlaceBits)]; }

// The stack that was found here before, if it is the same; 0: not known.
StackId remembered(const Place& place, Site site) {
  const uint32_t version = place.version.load(std::memory_order_acquire);
  if (version % 2 != 0 || place.site.pc != site.pc || place.site.cfa != site.cfa) return 0;
  const StackId id = place.id;
  if (id == 0) return 0;
  const Stack& stack = *at(id);
  for (unsigned i = 1; i < stack.count; ++i) {
    if (*reinterpret_cast<const uintptr_t*>(site.cfa + place.offsets[i]) != stack.frames[i]) {
      return 0;
    }
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return place.version.load(std::memory_order_relaxed) == version ? id : 0;
}

void remember(Place& place, const Trace& trace, StackId id) {
  uint32_t version = place.version.load(std::memory_order_relaxed);
  if (version % 2 != 0 ||
      !place.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) {
    return;
  }
  place.site = trace.site;
  place.id = id;
  memcpy(place.offsets, trace.offsets, trace.count * sizeof trace.offsets[0]);
  place.version.store(version + 2, std::memory_order_release);
}

[[gnu::noinline]] StackId capture_slow(Site site) {
  Trace trace(site);
  unwind(trace);
  const StackId id = intern(trace.frames, trace.count);
  if (trace.words_known && id != kUnknown) remember(place_of(site), trace, id);
  return id;
}

}  // namespace

void start_stacks() {
  buckets = static_cast<std::atomic<StackId>*>(map_lazily(sizeof(StackId) << kBucketBits));
  places = static_cast<Place*>(map_lazily(sizeof(Place) << kPlaceBits));
  for (store_bytes = size_t{1} << 30; store_bytes >= (1 << 20); store_bytes /= 8) {
    store = static_cast<char*>(map_lazily(store_bytes));
    if (store != nullptr) break;
  }
  if (buckets == nullptr || places == nullptr) store = nullptr;
}

void load_unwinder() {
  for (const char* name : {"libunwind.so.8", "libgcc_s.so.1"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const auto find = [&](auto& function, const char* symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    Backtrace backtrace = nullptr;
    if (find(backtrace, "_Unwind_Backtrace") && find(ip_of, "_Unwind_GetIP") &&
        find(cfa_of, "_Unwind_GetCFA")) {
      backtrace_of.store(backtrace, std::memory_order_release);
      return;
    }
  }
}

StackId capture(Site site) {
  if (store == nullptr) return kUnknown;
  const StackId id = remembered(place_of(site), site);
  return id != 0 ? id : capture_slow(site);
}

StackId capture_interrupted(uintptr_t pc) {
  Trace trace(Site{pc, 0});
  unwind(trace);
  ++trace.frames[0];  // all others are return addresses, behind the instruction that counts
  return intern(trace.frames, trace.count);
}

unsigned frames_of(StackId id, uintptr_t* frames) {
  if (id <= kUnknown || store == nullptr) return 0;
  const Stack& stack = *at(id);
  memcpy(frames, stack.frames, stack.count * sizeof *frames);
  return stack.count;
}

void stop_unwinding() {
  forking.store(true, std::memory_order_seq_cst);
  // An unwinder may wait for the loader's lock, which the forking thread may hold.
  for (int i = 0; i < 100 && unwinding_threads.load(std::memory_order_seq_cst) > 0; ++i) {
    sleep_us(1000);
  }
}

void allow_unwinding() { forking.store(false, std::memory_order_seq_cst); }

}  // namespace pktmalloc::checked

// SPDX-License-Identifier: MIT
// Unwinding: finds the stack by libgcc_s and by the steps that it learns from that; or, for
// programs compiled with -fno-omit-frame-pointer and for code without unwind tables, by the chain
// of saved frame pointers. A word that nobody may read ends that walk, whatever the chain holds.
//
// This library's frames save none: where the site lies in it, its tables unwind them.
#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>

#include "preload/base/library_function.h"
#include "preload/base/undisturbed.h"
#include "preload/process/fault_signal.h"
#include "preload/process/process.h"
#include "preload/stacks/stacks.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/machine.h"
#include "sizeclass/base/memory.h"

#if PKTMALLOC_HARDENED && defined(DLFO_STRUCT_HAS_EH_DBASE)  // by glibc 2.35
#define PKTMALLOC_HAS_COPY
// To load libgcc_s takes a process longer than all else that we do at its start, and the hardened
// library needs stacks for reports alone: a copy is part of it, to which a program's own tables
// (__register_frame) are unknown. A reference of the copy to libc itself would keep the library
// from older ones, which have no such function; then libgcc_s it is.
static decltype(&_dl_find_object) find_tables = nullptr;
int _dl_find_object(void* pc, dl_find_object* found) noexcept { return find_tables(pc, found); }
#endif

namespace pktmalloc {
namespace {

constinit std::atomic<bool> has_unwinder = false;
_Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn, void*) = nullptr;
// libgcc_s allocates and frees under its lock of the tables that programs register as they run
// (__register_frame), also where a program throws: there nobody may ask it for a stack.
constinit uintptr_t unwinder_begin = 0, unwinder_end = 0;
_Unwind_Ptr (*ip_of)(_Unwind_Context*) = nullptr;
_Unwind_Word (*cfa_of)(_Unwind_Context*) = nullptr;
_Unwind_Word (*register_of)(_Unwind_Context*, int) = nullptr;

constinit std::atomic<int> unwinding_threads = 0;
constinit std::atomic<bool> forking = false;
constinit thread_local bool unwinding = false;

bool in_unwinder(uintptr_t pc) { return pc >= unwinder_begin && pc < unwinder_end; }

// Looks at a stack, which may have no proper end: a coroutine's may lead to any word. False:
// looks() does not find what it wants, or came to what nobody may read, and ended there.
template <typename Looks>
[[gnu::noinline]] bool dare(const Looks& looks) {
  jmp_buf here;
  jmp_buf* const former = goes_on;
  goes_on = &here;
  bool is_found = false;
  if (_setjmp(here) == 0) is_found = looks();
  goes_on = former;
  return is_found;
}

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  Calls& calls = *static_cast<Calls*>(argument);
  const Site site = calls.site;
  const uintptr_t pc = ip_of(context);
  const uintptr_t cfa = cfa_of(context);
  if (calls.count == 0 && (pc != site.pc || (site.cfa != 0 && cfa != site.cfa)))
    return _URC_NO_REASON;
  calls.is_cut = pc != 0 && calls.count == calls.most;
  if (pc == 0 || calls.is_cut) return _URC_END_OF_STACK;
  const uintptr_t* const word = reinterpret_cast<uintptr_t*>(cfa) - 1;
  calls.words_known &=
      machine::kCallsPushFrames && (calls.count == 0 || (cfa > site.cfa && *word == pc));
  calls.frames[calls.count++] = {pc, reinterpret_cast<uintptr_t>(word) - site.cfa};
  return _URC_NO_REASON;
}

void ask_unwinder(_Unwind_Trace_Fn visit_frame, void* argument) {
  if (!has_unwinder.load(std::memory_order_acquire) || unwinding) return;
  const KeepErrno keep_errno;
  // Who blocks SIGSEGV, as our handler does, would die of a fault on the way; where one waits, it
  // stays blocked, and there is no stack. In strict mode a call of the system is death.
  sigset_t before{}, waiting{};
  if (!memory::in_strict_mode) change_signal_mask(SIG_BLOCK, nullptr, &before);
  const bool blocks = sigismember(&before, SIGSEGV) == 1;
  if (blocks) syscall(SYS_rt_sigpending, &waiting, size_t{8});
  if (sigismember(&waiting, SIGSEGV) == 1) return;
  sigset_t open = before;
  sigdelset(&open, SIGSEGV);
  if (blocks) change_signal_mask(SIG_SETMASK, &open);
  unwinding = true;
  // An unwinder may make calls that libc treats as cancellation points.
  const CancellationWaits no_cancellation;
  unwinding_threads.fetch_add(1, std::memory_order_seq_cst);
  // Pairs with stop_unwinding(): one of the two sees the other.
  if (!forking.load(std::memory_order_seq_cst))
    dare([=] { return backtrace(visit_frame, argument); });
  if (blocks) change_signal_mask(SIG_SETMASK, &before);
  unwinding_threads.fetch_sub(1, std::memory_order_release);
  unwinding = false;
}

// By hash of the return address: the rest of the hash above; below, the distance to the next one,
// in words.
constexpr unsigned kStepBits = 14;
constexpr uint32_t kUnknown = 0;
constexpr uint32_t kVaries = ~uint32_t{0};
constexpr uint32_t kOutermost = kVaries - 1;  // there is no next one
constinit std::atomic<uint64_t> steps[size_t{1} << kStepBits]{};
uint32_t step_from(uintptr_t pc) {
  const uint64_t hash = hash_of({pc, 0});
  const uint64_t step = steps[hash >> (64 - kStepBits)].load(std::memory_order_relaxed);
  return step >> 32 == static_cast<uint32_t>(hash) ? static_cast<uint32_t>(step) : kUnknown;
}

void learn(uintptr_t pc, uint32_t words) {
  const uint64_t hash = hash_of({pc, 0});
  const uint32_t known = step_from(pc);
  if (known == words) return;
  steps[hash >> (64 - kStepBits)].store(hash << 32 | (known == kUnknown ? words : kVaries),
                                        std::memory_order_relaxed);
}

void learn(const Calls& calls) {
  for (uint32_t i = 1; i < calls.count; ++i) {
    const uintptr_t bytes = calls.frames[i].offset - calls.frames[i - 1].offset;
    learn(calls.frames[i - 1].pc, static_cast<uint32_t>(bytes / sizeof(uintptr_t)));
  }
  const Frame& last = calls.frames[calls.count - 1];
  if (!calls.is_cut) learn(last.pc, kOutermost);
  const uintptr_t low = calls.site.cfa, top = low + last.offset;
  const bool same = low <= stack_top && top >= stack_low;
  stack_low = same ? std::min(stack_low, low) : low;
  stack_top = same && calls.is_cut ? std::max(stack_top, top) : top;
}

// False: a step is unknown, or perhaps the stack.
bool walk(Calls& calls) {
  const uintptr_t top = stack_top;  // a signal's handler may be on another one
  if (calls.site.cfa + kPage <= stack_low) return false;
  stack_low = std::min(stack_low, calls.site.cfa);
  Frame frame = {calls.site.pc, -sizeof(uintptr_t)};
  for (;;) {
    const uint32_t words = step_from(frame.pc);
    if (words == kUnknown || words == kVaries) return false;
    calls.frames[calls.count++] = frame;
    if (words == kOutermost) return true;
    if (calls.count == calls.most) return calls.is_cut = true;
    frame.offset += words * sizeof(uintptr_t);
    const uintptr_t word = calls.site.cfa + frame.offset;
    if (word > top) return false;
    frame.pc = *reinterpret_cast<const uintptr_t*>(word);
  }
}

// The first frame from `site` outwards that is not this library's: where it goes on, and its value
// of the frame pointer's register. Unless it is found, these stay as they are.
struct FrameOutside {
  Site site;
  uintptr_t pc, frame_pointer;
  bool is_reached = false;  // the site
};
_Unwind_Reason_Code look_outside(_Unwind_Context* context, void* argument) {
  FrameOutside& f = *static_cast<FrameOutside*>(argument);
  const uintptr_t pc = ip_of(context);
  f.is_reached |= pc == f.site.pc && cfa_of(context) == f.site.cfa;
  if (!f.is_reached || in_this_library(pc)) return _URC_NO_REASON;
  f.pc = pc;
  f.frame_pointer = register_of(context, machine::kFramePointer);
  return _URC_END_OF_STACK;
}

constexpr uintptr_t kLargestFrame = size_t{1} << 20;

// The system reads the new mask before it rejects the nonsensical first argument. This changes
// nothing, and tells unreadable pages apart.
bool readable(uintptr_t page) {
  const KeepErrno keep_errno;
  syscall(SYS_rt_sigprocmask, ~0, page, nullptr, size_t{8});
  return errno != EFAULT;
}

// Before a fork: waits, though not for ever, until nobody is unwinding, and lets nobody begin: the
// child would find the unwinder's locks held.
void stop_unwinding() {
  forking.store(true, std::memory_order_seq_cst);
  // An unwinder may wait for the loader's lock, which the forking thread may hold.
  for (int i = 0; i < 100 && unwinding_threads.load(std::memory_order_seq_cst) > 0; ++i) {
    sleep_us(1000);
  }
}

bool find_unwinder() {
#ifdef PKTMALLOC_HAS_COPY
  find_tables = find_in_libc<decltype(find_tables)>("_dl_find_object", "GLIBC_2.35");
  if (find_tables != nullptr) {
    backtrace = _Unwind_Backtrace;
    ip_of = _Unwind_GetIP;
    cfa_of = _Unwind_GetCFA;
    register_of = _Unwind_GetGR;
    unwinder_begin = reinterpret_cast<uintptr_t>(&__ehdr_start);
    unwinder_end = reinterpret_cast<uintptr_t>(&_end);
    return true;
  }
#endif
  void* const library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
  Dl_info file;
  if (library == nullptr || !find_function(backtrace, library, "_Unwind_Backtrace") ||
      dladdr(reinterpret_cast<void*>(backtrace), &file) == 0) {
    return false;
  }
  unwinder_begin = reinterpret_cast<uintptr_t>(file.dli_fbase);
  // What dlopen returns is a link_map; linkers put the dynamic section behind the code.
  unwinder_end = reinterpret_cast<uintptr_t>(static_cast<link_map*>(library)->l_ld);
  return find_function(ip_of, library, "_Unwind_GetIP") &&
         find_function(cfa_of, library, "_Unwind_GetCFA") &&
         find_function(register_of, library, "_Unwind_GetGR");
}

}  // namespace

void load_unwinder() {
  if (!find_unwinder()) return;
  is_unwinders = in_unwinder;
  is_daring = [](uintptr_t pc) { return in_unwinder(pc) || in_this_library(pc); };
  share_faults();
  has_unwinder.store(true, std::memory_order_release);
  // Binds its calls of libc: later the stack may be a handler's of 8 KiB, and the binding takes
  // as much as the processor has registers.
  ask_unwinder([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
}

void unwind(Calls& calls) {
  if (calls.words_known && dare([&] { return walk(calls); })) return;
  calls.count = 0;
  if (!in_unwinder(calls.site.pc)) ask_unwinder(visit, &calls);
  if (calls.count == 0) {
    calls.frames[calls.count++] = {calls.site.pc, 0};
    calls.words_known = false;
  }
  if (calls.words_known) return learn(calls);
  // Stacks that differ only in these are the same.
  for (uint32_t i = 0; i < calls.count; ++i) calls.frames[i].offset = 0;
}

StackId capture_by_frame_pointers(Site site) {
  FrameOutside frame{site, site.pc, machine::frame_pointer_before(site.cfa)};
  if (!machine::kCallsPushFrames || in_this_library(site.pc)) ask_unwinder(look_outside, &frame);
  Frame* const frames = static_cast<Frame*>(alloca(stack_depth * sizeof(Frame)));
  frames[0] = {frame.pc, 0};
  unsigned count = 1;
  uintptr_t below = site.cfa;
  uintptr_t known_page = site.cfa / kPage;
  for (uintptr_t at = frame.frame_pointer;; ++count) {
    const uintptr_t words_end = at + 2 * sizeof(uintptr_t);
    if (at < below || at - below > kLargestFrame || at % sizeof(uintptr_t) != 0) break;
    for (const uintptr_t page : {at / kPage, (words_end - 1) / kPage}) {
      if (page == known_page) continue;
      if (!readable(page * kPage)) return intern(frames, count, false);
      known_page = page;
    }
    const uintptr_t* const words = reinterpret_cast<const uintptr_t*>(at);
    if (words[1] < kPage || words[1] >> machine::kAddressBits != 0) break;  // no code
    if (count == stack_depth) return intern(frames, count, true);
    frames[count] = {words[1], 0};
    below = words_end;
    at = words[0];
  }
  return intern(frames, count, false);
}

constinit const Part unwinding_part{
    .lock = stop_unwinding, .unlock = [] { forking.store(false, std::memory_order_seq_cst); }};

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "preload/observers/trace.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>

#include "preload/base/kept_stderr.h"
#include "preload/base/lock_rank.h"
#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/contract/trace_format.h"
#include "preload/observers/observer.h"
#include "preload/observers/trace_buffer.h"
#include "preload/observers/trace_file.h"
#include "preload/observers/undisturbed.h"
#include "preload/process/recording.h"
#include "preload/process/thread.h"
#include "sizeclass/clock.h"
#include "sizeclass/memory.h"
#include "sizeclass/raised.h"

namespace pktmalloc {
namespace {

constinit std::atomic<bool> active = false;  // no thread begins a record while false

constinit std::atomic<TraceBuffer*> buffers = nullptr;  // all ever made
constinit std::atomic<bool> recorded = false;           // some of them lie in the recording
constinit std::atomic<uint32_t> threads = 0;            // threads that got a buffer
constinit Mutex shared_mutex{lock_rank(OuterRank::kTraceShared)};
constinit TraceBuffer* shared = nullptr;  // its contents: guarded by shared_mutex

constinit Mutex file_mutex{lock_rank(OuterRank::kTraceFile)};
constinit TraceFile file;      // guarded by file_mutex
constinit trace::State end{};  // how the trace will have ended; guarded by file_mutex
constinit bool ended = false;  // nothing more is written; guarded by file_mutex
// Reads as false in the child of any fork, even before our fork handler has run there or if it
// does not run: other libraries' handlers allocate. Not in that of vfork, which shares our memory.
constinit bool* same_process = nullptr;
constinit int process = 0;  // the process that this trace belongs to
constinit int forked_from = 0;

struct Mine {
  TraceBuffer* buffer;
  bool ended;
  bool busy;  // between begin and end of a record; a signal handler may come
};
constinit thread_local Mine mine{nullptr, false, false};

// Under file_mutex.
void stop(trace::State state) {
  active.store(false, std::memory_order_relaxed);
  end = state;
}

// Under file_mutex. Its thread may go on recording meanwhile: new records go behind `used`.
void write_out(TraceBuffer& buffer) {
  const uint32_t used = buffer.used.load(std::memory_order_acquire);
  if (used == 0 || ended) return;
  trace::Block& block = buffer.block;
  block.kind = trace::BlockKind::kRecords;
  block.bytes = used;
  if ((!file.is_open() && !file.open(forked_from)) || !file.append(block)) {
    stop(trace::State::kStopped);
    file.close(end);
    ended = true;
  }
}

void* new_memory(size_t bytes) {
  void* memory = memory::reserve(bytes, memory::page_bytes());
  if (memory == nullptr || memory::commit(memory, bytes)) return memory;
  memory::release(memory, bytes);
  return nullptr;
}

TraceBuffer* new_buffer() {
  void* memory = add_chunk(recording::ChunkKind::kTrace, 0);
  if (memory != nullptr) {
    recorded.store(true, std::memory_order_relaxed);
  } else {
    memory = new_memory(trace::kMostBlockBytes);
  }
  return static_cast<TraceBuffer*>(memory);  // zeroed
}

TraceBuffer* take_buffer() {
  for (TraceBuffer* b = buffers.load(std::memory_order_acquire); b != nullptr; b = b->next) {
    if (!b->taken.load(std::memory_order_relaxed) &&
        !b->taken.exchange(true, std::memory_order_acquire)) {
      return b;
    }
  }
  TraceBuffer* b = new_buffer();
  if (b == nullptr) return nullptr;
  b->taken.store(true, std::memory_order_relaxed);
  b->next = buffers.load(std::memory_order_relaxed);
  while (!buffers.compare_exchange_weak(b->next, b, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
  return b;
}

// The child's buffers: those that the parent had, but for those in its recording.
void begin_buffers_anew() {
  threads.store(0, std::memory_order_relaxed);
  if (recorded.exchange(false, std::memory_order_relaxed)) {
    buffers.store(nullptr, std::memory_order_relaxed);
    mine.buffer = nullptr;
    shared = take_buffer();
    if (shared == nullptr) active.store(false, std::memory_order_relaxed);
    return;
  }
  for (TraceBuffer* b = buffers.load(std::memory_order_relaxed); b != nullptr; b = b->next) {
    b->restart();
    b->taken.store(b == shared || b == mine.buffer, std::memory_order_relaxed);
  }
  if (mine.buffer != nullptr) mine.buffer->block.thread = threads.fetch_add(1) + 1;
}

// In the child. Other threads' buffers now belong to nobody, and this thread's earlier records are
// the parent's. Threads that are gone may have held our locks.
void begin_anew(bool interrupts_a_record) {
  const Undisturbed undisturbed;
  *same_process = true;
  shared_mutex.forget_holder();
  file_mutex.forget_holder();
  forked_from = process;
  process = getpid();
  file.forget();
  leave_recording();
  begin_buffers_anew();
  if (!active.load(std::memory_order_relaxed)) return;
  static char name_of_parent[PATH_MAX];  // static, because small threads fork too
  strcpy(name_of_parent, file.path());
  // A handler that forked in the middle of a record returns into it.
  if (interrupts_a_record || !file.name() || strcmp(name_of_parent, file.path()) == 0) {
    active.store(false, std::memory_order_relaxed);
  }
}

// The calling thread's own buffer, or the shared one under shared_mutex.
void flush(TraceBuffer& buffer) {
  const Undisturbed undisturbed;
  const Lock lock(file_mutex);
  write_out(buffer);
  buffer.restart();
}

// False: no buffer for this thread now. Only a thread with a cache gets one, because we learn of
// its end.
bool attach() {
  if (mine.ended || this_thread.cache == nullptr) return false;
  const Undisturbed undisturbed;
  mine.buffer = take_buffer();
  if (mine.buffer == nullptr) {
    const Lock lock(file_mutex);
    if (end == trace::State::kEnded)
      message("the trace %s ends early: no memory for a thread's buffer", file.path());
    stop(trace::State::kStopped);
    return false;
  }
  mine.buffer->restart();
  mine.buffer->block.thread = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return true;
}

void record(const TraceRecord& call) {
  if (!active.load(std::memory_order_relaxed)) return;
  if (!*same_process) [[unlikely]]
    begin_anew(mine.busy);
  if (mine.busy || (mine.buffer == nullptr && !attach())) {
    if (!active.load(std::memory_order_relaxed)) return;
    const Undisturbed undisturbed;
    const Lock lock(shared_mutex);
    if (shared->full()) flush(*shared);
    shared->add(call);
    return;
  }
  const Raised busy(mine.busy);
  if (mine.buffer->full()) flush(*mine.buffer);
  mine.buffer->add(call);
}

void on_allocated(void* p, size_t bytes, size_t alignment) {
  if (alignment == 0) return record({trace::kAllocation, p, bytes});
  const unsigned log2 = static_cast<unsigned>(std::countr_zero(alignment));
  record({trace::kSpecialAllocation, p, bytes, trace::kAligned + log2});
}

void on_zeroed(void* p, size_t bytes) {
  record({trace::kSpecialAllocation, p, bytes, trace::kZeroed});
}

void on_released(void* p) { record({trace::kRelease, p}); }

void on_moving(void* p) { record({trace::kMove, p}); }

void on_resized(void* from, void* p, size_t bytes, bool was_moving) {
  const trace::Special special = was_moving ? trace::kMoved : trace::kResized;
  record({trace::kSpecialAllocation, p, bytes, special, from});
}

void on_thread_exit() {
  mine.ended = true;
  if (same_process != nullptr && !*same_process) begin_anew(false);
  TraceBuffer* const buffer = mine.buffer;
  if (buffer == nullptr) return;
  mine.buffer = nullptr;
  flush(*buffer);
  buffer->taken.store(false, std::memory_order_release);
}

// Other threads may still run: what they record from now on is lost, like whatever they would do
// after the process has ended.
void on_process_exit() {
  if (same_process == nullptr) return;  // no trace was wanted
  if (!*same_process) begin_anew(false);
  const Undisturbed undisturbed;
  const Lock shared_lock(shared_mutex);
  const Lock lock(file_mutex);
  active.store(false, std::memory_order_relaxed);
  if (ended) return;
  for (TraceBuffer* b = buffers.load(std::memory_order_acquire); b != nullptr; b = b->next) {
    write_out(*b);
  }
  // A forked child that recorded nothing leaves no file.
  if (ended || !file.is_open()) return;
  trace::Block last{};
  last.kind = trace::BlockKind::kEnd;
  last.start_ns = clock_ns();
  if (!file.append(last)) end = trace::State::kStopped;
  file.close(end);
  ended = true;
  tell_file("calls", file.path(), "replay");
}

void look_for_fork() {
  if (active.load(std::memory_order_relaxed) && process != getpid()) begin_anew(mine.busy);
}

constexpr Observer kTracer = {on_allocated, on_released, on_zeroed, on_moving, on_resized};

void load() {
  if (options().trace_path == nullptr) return;
  if (PKTMALLOC_CHECKED) {
    message("PKTMALLOC_TRACE does nothing here: it is for libpktmalloc.so");
    return;
  }
  process = getpid();
  end = trace::State::kEnded;
  shared = take_buffer();
  same_process = static_cast<bool*>(new_memory(memory::page_bytes()));
  if (shared == nullptr || same_process == nullptr) {
    message("no trace: there is no memory for its buffers");
    return;
  }
  *same_process = true;
  madvise(same_process, memory::page_bytes(), MADV_WIPEONFORK);
  if (!file.name()) return;
  file.load();
  if (!file.open(0)) return file.forget();
  active = true;
  observe(kTracer);
}

}  // namespace

constinit const Part trace_part{
    .load = load,
    .thread_exit = on_thread_exit,
    .exit = on_process_exit,
    .unlock = look_for_fork,
    .forked = look_for_fork,
};

}  // namespace pktmalloc

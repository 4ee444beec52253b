// SPDX-License-Identifier: MIT
// The trace: writes every call into a file when PKTMALLOC_TRACE or an order asks for it; `pktmalloc
// replay` plays it.
//
// A thread records into its own buffer, without lock or atomic instruction, and writes it out
// itself when it is full: a slow file slows the program down, but loses nothing. Calls that have no
// such buffer go into one that all share, under a lock: those of threads before their first and
// after their last moment with a cache, and of signal handlers that interrupt a record. If memory
// or the file is refused, the trace ends with a line on stderr and the program goes on. A forked
// child has its own trace if its name differs (%p), from its first full buffer, and none otherwise.
#include "preload/recording/observer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <climits>
#include <cstring>
#include <utility>

#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/report_file.h"
#include "preload/base/this_library.h"
#include "preload/base/undisturbed.h"
#include "preload/formats/trace_format.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/recording/recording.h"
#include "preload/recording/trace_file.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/raised.h"

namespace pktmalloc {
namespace {

struct TraceRecord {
  trace::RecordKind kind;
  const void* p;
  size_t bytes = 0;
  unsigned special = 0;  // of trace::Special
  const void* from = nullptr;
};

// TraceBuffer: one thread's records since its last block of the trace. If there is a recording, it
// lies there.
//
// Only its owner writes. Whoever holds the file's lock may read up to `used`, and only under that
// lock does `used` fall.
//
// `used`: release; partner: the acquire in write_out()
struct TraceBuffer : trace::OpenBlock {
  TraceBuffer* next;  // of all buffers; constant once it is in the list
  std::atomic<bool> taken;
  std::atomic<uint32_t> session;  // the trace that the records belong to; its owner changes it
  trace::Position position;

  bool full() const {
    return used.load(std::memory_order_relaxed) + trace::kMostRecordBytes > sizeof bytes;
  }

  void restart() {
    position = {};
    block.bytes = 0;
    used.store(0, std::memory_order_relaxed);
  }

  void add(const TraceRecord& record) {
    const uint64_t now = clock_ns();
    if (used.load(std::memory_order_relaxed) == 0) block.start_ns = position.time_ns = now;
    unsigned char* out = bytes + used.load(std::memory_order_relaxed);
    *out++ = static_cast<unsigned char>(record.kind | entry_of(record.p) << 2);
    out = trace::put_varint(out, now - position.time_ns);
    out = put_address(out, record.p);
    if (record.kind < trace::kRelease) out = trace::put_varint(out, record.bytes);
    if (record.kind == trace::kSpecialAllocation) {
      *out++ = static_cast<unsigned char>(record.special);
      if (record.special >= trace::kResized) {
        *out++ = static_cast<unsigned char>(entry_of(record.from));
        out = put_address(out, record.from);
      }
    }
    position.time_ns = now;
    used.store(static_cast<uint32_t>(out - bytes), std::memory_order_release);
  }

 private:
  static unsigned entry_of(const void* p) {
    return trace::Position::entry_of(reinterpret_cast<uintptr_t>(p));
  }

  unsigned char* put_address(unsigned char* out, const void* p) {
    uint64_t& latest = position.latest[entry_of(p)];
    const uint64_t address = reinterpret_cast<uintptr_t>(p) / 8;
    out = trace::put_varint(out, trace::zigzag(address - latest));
    latest = address;
    return out;
  }
};
static_assert(sizeof(TraceBuffer) <= trace::kMostBlockBytes);

constinit std::atomic<TraceBuffer*> buffers = nullptr;  // all ever made
constinit std::atomic<bool> recorded = false;           // some of them lie in the recording

// Linked by `next`.
TraceBuffer* first_buffer() { return buffers.load(std::memory_order_acquire); }

// One that nobody has; nullptr: no memory.
TraceBuffer* take_buffer() {
  for (TraceBuffer* b = first_buffer(); b != nullptr; b = b->next) {
    if (!b->taken.load(std::memory_order_relaxed) &&
        !b->taken.exchange(true, std::memory_order_acquire)) {
      return b;
    }
  }
  // A trace by order has no place in the recording.
  const bool records = options().trace_path != nullptr;
  void* const chunk = records ? add_chunk(recording::ChunkKind::kTrace, 0) : nullptr;
  if (chunk != nullptr) recorded.store(true, std::memory_order_relaxed);
  auto* const b =
      static_cast<TraceBuffer*>(chunk != nullptr ? chunk : map_lazily(trace::kMostBlockBytes));
  if (b == nullptr) return nullptr;
  b->taken.store(true, std::memory_order_relaxed);
  b->next = buffers.load(std::memory_order_relaxed);
  while (!buffers.compare_exchange_weak(b->next, b, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
  return b;
}

// No thread begins a record while false. Store: release; load: acquire.
constinit std::atomic<bool> active = false;

constinit Mutex shared_mutex{part_rank(PartId::trace)};
constinit TraceBuffer* shared = nullptr;  // its contents: guarded by shared_mutex

constinit Mutex file_mutex{part_rank(PartId::trace, 1)};
constinit TraceFile file;        // guarded by file_mutex
constinit trace::State end{};    // how the trace will have ended; guarded by file_mutex
constinit uint32_t threads = 0;  // with a buffer of their own; guarded by file_mutex
// Of its name; nullptr: nothing more is written. Guarded by file_mutex.
const char* pattern = nullptr;
// Counts traces: records of an earlier one, which a thread did not write out, are none of this
// one's. Changed under file_mutex.
constinit std::atomic<uint32_t> session = 0;
constinit bool* same_process = nullptr;  // map_until_fork(): other libraries' handlers allocate
constinit int process = 0;               // the process that this trace belongs to
constinit int forked_from = 0;

constinit thread_local TraceBuffer* mine = nullptr;
constinit thread_local bool busy = false;  // amid a record; a signal handler may come

// Under file_mutex.
void stop() {
  active.store(false, std::memory_order_relaxed);
  end = trace::State::kStopped;
}

bool is_of_session(const TraceBuffer& buffer) {
  return buffer.session.load(std::memory_order_relaxed) == session.load(std::memory_order_relaxed);
}

// Under file_mutex. Its thread may go on recording meanwhile: new records go behind `used`.
void write_out(TraceBuffer& buffer) {
  const uint32_t used = buffer.used.load(std::memory_order_acquire);
  if (used == 0 || pattern == nullptr || !is_of_session(buffer)) return;
  trace::Block& block = buffer.block;
  block.kind = trace::BlockKind::kRecords;
  block.bytes = used;
  if ((file.is_open() || file.open(forked_from)) && file.append(block)) return;
  stop();
  file.close(end);
  pattern = nullptr;
}

void join_session(TraceBuffer& buffer) {
  buffer.restart();
  buffer.session.store(session.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// Under file_mutex, or in a child before it has other threads.
void begin_session() {
  session.fetch_add(1, std::memory_order_relaxed);
  threads = 0;
  join_session(*shared);
}

// The child's buffers: those that the parent had, but for those in its recording.
void begin_buffers_anew() {
  if (recorded.exchange(false, std::memory_order_relaxed)) {
    buffers.store(nullptr, std::memory_order_relaxed);
    mine = nullptr;
    shared = take_buffer();
  }
  if (shared == nullptr) return active.store(false, std::memory_order_relaxed);
  for (TraceBuffer* b = first_buffer(); b != nullptr; b = b->next) {
    b->taken.store(b == shared || b == mine, std::memory_order_relaxed);
  }
  begin_session();
}

// In the child. Other threads' buffers now belong to nobody, and this thread's earlier records are
// the parent's. Threads that are gone may have held our locks.
void begin_anew() {
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
  if (busy || pattern == nullptr || !file.name(pattern) ||
      strcmp(name_of_parent, file.path()) == 0) {
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
// its end, and not while it ends.
bool attach() {
  if (this_thread.direct || this_thread.cache == nullptr) return false;
  const Undisturbed undisturbed;
  mine = take_buffer();
  if (mine != nullptr) return true;
  const Lock lock(file_mutex);
  if (end == trace::State::kEnded)
    message("the trace %s ends early: no memory for a thread's buffer", file.path());
  stop();
  return false;
}

// The thread's buffer is new to it, or from an earlier trace.
void join_as_thread() {
  const Undisturbed undisturbed;
  const Lock lock(file_mutex);
  join_session(*mine);
  mine->block.thread = ++threads;
}

EVERY_PROCESS void look_for_fork() {
  if (same_process != nullptr && !*same_process) begin_anew();
}

void on_thread_exit() {
  look_for_fork();
  TraceBuffer* const buffer = std::exchange(mine, nullptr);
  if (buffer == nullptr) return;
  flush(*buffer);
  buffer->session.store(0, std::memory_order_relaxed);  // of none: the next thread has a number
  buffer->taken.store(false, std::memory_order_release);
}

// False after a line.
bool begin_trace(const char* its_pattern) {
  if (shared == nullptr) shared = take_buffer();
  if (same_process == nullptr) same_process = map_until_fork();
  if (shared == nullptr || same_process == nullptr)
    return message("no trace: there is no memory for its buffers"), false;
  if (!file.name(its_pattern)) return false;
  file.load();  // may allocate
  const Lock shared_lock(shared_mutex);
  const Lock lock(file_mutex);
  process = getpid();
  forked_from = 0;
  end = trace::State::kEnded;
  if (!file.open(0)) return file.forget(), false;
  pattern = its_pattern;
  begin_session();
  active.store(true, std::memory_order_release);
  begin_observation();
  return true;
}

// Writes what the threads have recorded until now; what they record meanwhile is lost. False: there
// was no file that it could end.
bool finish_trace() {
  const Undisturbed undisturbed;
  const Lock shared_lock(shared_mutex);
  const Lock lock(file_mutex);
  active.store(false, std::memory_order_relaxed);
  for (TraceBuffer* b = first_buffer(); b != nullptr; b = b->next) write_out(*b);
  // A forked child that recorded nothing leaves no file.
  if (!file.is_open()) return false;
  trace::Block last{};
  last.kind = trace::BlockKind::kEnd;
  last.start_ns = clock_ns();
  if (!file.append(last)) end = trace::State::kStopped;
  file.close(end);
  pattern = nullptr;
  return true;
}

EVERY_PROCESS void on_process_exit() {
  look_for_fork();
  if (same_process == nullptr) return;  // no trace was wanted
  if (finish_trace()) tell_file("calls", file.path(), "replay");
}

EVERY_PROCESS void load() {
  if (options().trace_path != nullptr && !PKTMALLOC_CHECKED) begin_trace(options().trace_path);
}

void trace_call(const TraceRecord& call) {
  if (!active.load(std::memory_order_acquire)) return;
  if (!*same_process) [[unlikely]]
    begin_anew();
  if (busy || (mine == nullptr && !attach())) {
    if (!active.load(std::memory_order_relaxed)) return;
    const Undisturbed undisturbed;
    const Lock lock(shared_mutex);
    if (shared->full()) flush(*shared);
    shared->add(call);
    return;
  }
  const Raised is_busy(busy);
  if (!is_of_session(*mine)) [[unlikely]]
    join_as_thread();
  if (mine->full()) flush(*mine);
  mine->add(call);
}

bool started = false;  // by order, and not stopped; perhaps it has ended early

}  // namespace

// Both observers are told here.
void tell_allocated(void* p, size_t bytes, size_t alignment, bool is_zeroed) {
  if (p == nullptr || this_thread.forking) return;
  size_allocated(p, bytes, alignment);
  if (alignment == 0 && !is_zeroed) return trace_call({trace::kAllocation, p, bytes});
  const unsigned log2 = static_cast<unsigned>(std::countr_zero(alignment));
  trace_call({trace::kSpecialAllocation, p, bytes,
              is_zeroed ? unsigned{trace::kZeroed} : trace::kAligned + log2});
}

void tell_released(void* p, bool is_moving) {
  if (this_thread.forking) return;
  size_released(p);
  trace_call({is_moving ? trace::kMove : trace::kRelease, p});
}

void tell_resized(void* from, void* p, size_t bytes, bool was_moving) {
  if (this_thread.forking) return;
  size_allocated(p, bytes, 0);
  if (!was_moving) size_released(from);
  const trace::Special special = was_moving ? trace::kMoved : trace::kResized;
  trace_call({trace::kSpecialAllocation, p, bytes, special, from});
}

const char* start_trace(const char* its_pattern) {
  if (kThisLibrary != LibraryKind::kNormal) return "is for libpktmalloc.so";
  if (options().trace_path != nullptr) return "is that of PKTMALLOC_TRACE";
  if (started) return "is under way already";
  if (its_pattern == nullptr) return "needs a file";
  if (strlen(its_pattern) >= PATH_MAX) return "has too long a name";
  struct stat found;  // a pattern of no file is taken for a regular one
  if (status_of(its_pattern, &found) == 0 && !S_ISREG(found.st_mode)) return "needs a regular file";
  static char copy[PATH_MAX];
  started = begin_trace(strcpy(copy, its_pattern));
  return started ? nullptr : "cannot be written; the process's stderr says why";
}

const char* stop_trace() {
  if (options().trace_path != nullptr)
    return "is that of PKTMALLOC_TRACE, and ends with the process";
  if (!started) return "is not under way";
  started = false;
  end_observation();
  if (!finish_trace() || end != trace::State::kEnded)
    return "ends early, or is that of a parent process; stderr says why";
  return nullptr;
}

const char* trace_path() { return file.path(); }

constinit const Part trace_part{
    .load = load,
    .thread_exit = on_thread_exit,
    .exit = on_process_exit,
    .unlock = look_for_fork,
    .forked = look_for_fork,
};

}  // namespace pktmalloc

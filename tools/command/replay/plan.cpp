// SPDX-License-Identifier: MIT
#include "tools/command/replay/plan.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

// Which place of the table of objects each has. What its own thread releases leaves its place to
// that thread's next; an object that goes to another thread has a place for itself.
class Slots {
 public:
  explicit Slots(const Trace& trace)
      : owners_(trace.objects),
        slots_(trace.objects),
        crosses_(trace.objects),
        free_(trace.threads) {
    for (const Call& call : trace.calls) {
      if (call.kind == CallKind::kRelease) give(call.object, call.thread);
      if (call.kind == CallKind::kReallocate) give(call.from, call.thread);
      if (call.kind != CallKind::kRelease) owners_[call.object] = call.thread;
    }
  }

  uint32_t allocate(const Call& call) {
    std::vector<uint32_t>& free = free_[call.thread];
    uint32_t& slot = slots_[call.object];
    if (crosses_[call.object] || free.empty()) return slot = count_++;
    slot = free.back();
    free.pop_back();
    return slot;
  }

  uint32_t release(uint32_t object, uint32_t thread) {
    const uint32_t slot = slots_[object];
    if (!crosses_[object]) free_[thread].push_back(slot);
    return slot;
  }

  bool crosses(uint32_t object) const { return crosses_[object]; }
  uint32_t count() const { return count_; }

 private:
  void give(uint32_t object, uint32_t thread) {
    if (owners_[object] != thread) crosses_[object] = true;
  }

  std::vector<uint32_t> owners_, slots_;  // by object
  std::vector<bool> crosses_;
  std::vector<std::vector<uint32_t>> free_;  // by thread
  uint32_t count_ = 0;
};

struct Span {
  size_t first, last;  // of the calls
};

std::vector<Span> spans_of(const Trace& trace) {
  std::vector<Span> spans(trace.threads, Span{trace.calls.size(), 0});
  for (size_t i = 0; i < trace.calls.size(); ++i) {
    Span& span = spans[trace.calls[i].thread];
    span.first = std::min(span.first, i);
    span.last = i;
  }
  return spans;
}

// Writes the operations where they are played from: each thread's stream has its place, because
// they are counted first. A long trace is the most memory that this process ever has, so what is
// written gives its calls' back.
class Layout {
 public:
  explicit Layout(Trace& trace) : trace_(trace), spans_(spans_of(trace)), streams_(trace.threads) {
    for (uint32_t thread = 0; thread < trace.threads; ++thread) {
      if (spans_[thread].first < trace.calls.size()) by_end_.push_back(thread);
    }
    std::sort(by_end_.begin(), by_end_.end(),
              [&](uint32_t a, uint32_t b) { return spans_[a].last < spans_[b].last; });
    for (size_t i = 0; i < trace.calls.size(); ++i) {
      const Call& call = trace.calls[i];
      if (starts(i)) ++streams_[trace.calls[i - 1].thread].count;
      streams_[call.thread].count += call.kind == CallKind::kReallocate ? 2 : 1;
    }
    for (Stream& stream : streams_) {
      stream.first = operations_;
      operations_ += stream.count;
    }
  }

  uint64_t operations() const { return operations_; }

  void write(PlanHeader& plan) {
    std::copy(streams_.begin(), streams_.end(), plan.stream_array());
    for (Stream& stream : streams_) stream.count = 0;  // from here on: that are there
    plan_ = &plan;
    Slots slots(trace_);
    std::vector<uint64_t> sizes(trace_.objects);
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      add(i, slots, sizes);
      if (i % kStep == 0) give_back(i);
    }
    plan.slots = slots.count();
    plan.first_stream = trace_.calls.empty() ? 0 : trace_.calls[0].thread;
  }

 private:
  // Does call i begin a thread that another one starts?
  bool starts(size_t i) const { return i > 0 && spans_[trace_.calls[i].thread].first == i; }

  void add(size_t i, Slots& slots, std::vector<uint64_t>& sizes) {
    const Call& call = trace_.calls[i];
    const uint64_t time = call.time_ns - std::min(call.time_ns, trace_.calls[0].time_ns);
    if (starts(i)) start(call.thread, i, time);
    if (call.kind == CallKind::kRelease) {
      const Action action = slots.crosses(call.object) ? Action::kReleaseOfOther : Action::kRelease;
      return push(call.thread, {time, 0, slots.release(call.object, call.thread), action, 0});
    }
    Action action = Action::kAllocate;
    if (call.kind == CallKind::kAllocateZeroed) action = Action::kAllocateZeroed;
    if (call.kind == CallKind::kReallocate) {
      action = Action::kReallocate;
      const Action take = slots.crosses(call.from) ? Action::kTakeOfOther : Action::kTake;
      push(call.thread, {time, sizes[call.from], slots.release(call.from, call.thread), take, 0});
    }
    sizes[call.object] = call.bytes;
    const uint64_t bytes = std::max<uint64_t>(call.bytes, action == Action::kReallocate ? 1 : 0);
    push(call.thread, {time, bytes, slots.allocate(call), action, call.alignment_log2});
  }

  // Whoever called before starts it, after the threads that ended since the latest start.
  void start(uint32_t thread, size_t i, uint64_t time) {
    const uint64_t first = waits_;
    const uint32_t starter = trace_.calls[i - 1].thread;
    for (; waited_ < by_end_.size() && spans_[by_end_[waited_]].last < i; ++waited_) {
      if (by_end_[waited_] != starter) plan_->wait_array()[waits_++] = by_end_[waited_];
    }
    push(starter, {time, first << 32 | (waits_ - first), thread, Action::kStartThread, 0});
  }

  void push(uint32_t thread, const Operation& operation) {
    Stream& stream = streams_[thread];
    plan_->operation_array()[stream.first + stream.count++] = operation;
  }

  static constexpr size_t kStep = size_t{1} << 15;

  // The calls of one step, but for the latest one and the first, which are still needed.
  void give_back(size_t i) {
    if (i <= 2 * kStep) return;
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const Call* const end = trace_.calls.data() + i - kStep;
    const uintptr_t from = (reinterpret_cast<uintptr_t>(end - kStep) + page - 1) / page * page;
    const uintptr_t to = reinterpret_cast<uintptr_t>(end) / page * page;
    madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }

  Trace& trace_;
  std::vector<Span> spans_;
  std::vector<uint32_t> by_end_;  // threads
  size_t waited_ = 0;             // of by_end_
  std::vector<Stream> streams_;
  uint64_t operations_ = 0, waits_ = 0;
  PlanHeader* plan_ = nullptr;
};

}  // namespace

Plan::Plan(Trace& trace) {
  Layout layout(trace);
  PlanHeader header{};
  header.streams = trace.threads;
  header.operations = layout.operations();
  header.waits = trace.threads;  // at most: each is waited for once
  header.bytes = sizeof header + header.streams * sizeof(Stream) +
                 header.operations * sizeof(Operation) + header.waits * sizeof(uint32_t);
  descriptor_ = memfd_create("pktmalloc replay", 0);  // inherited
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(header.bytes)) != 0) {
    throw Failure("no memory for the replay: {}", strerror(errno));
  }
  void* memory = mmap(nullptr, header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) throw Failure("no memory for the replay: {}", strerror(errno));
  header_ = new (memory) PlanHeader(header);
  layout.write(*header_);
  trace.calls = {};
}

Plan::~Plan() {
  munmap(header_, header_->bytes);
  close(descriptor_);
}

}  // namespace pktmalloc

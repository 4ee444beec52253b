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
// that thread's next; an object that another thread releases has a place for itself.
class Slots {
 public:
  explicit Slots(const Trace& trace)
      : owners_(trace.objects),
        slots_(trace.objects),
        crosses_(trace.objects),
        free_(trace.threads) {
    for (const Call& call : trace.calls) {
      if (call.kind != trace::kRelease) {
        owners_[call.object] = call.thread;
      } else if (owners_[call.object] != call.thread) {
        crosses_[call.object] = true;
      }
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

  uint32_t release(const Call& call) {
    const uint32_t slot = slots_[call.object];
    if (!crosses_[call.object]) free_[call.thread].push_back(slot);
    return slot;
  }

  bool crosses(const Call& call) const { return crosses_[call.object]; }
  uint32_t count() const { return count_; }

 private:
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

using Streams = std::vector<std::vector<Operation>>;

class Layout {
 public:
  explicit Layout(const Trace& trace)
      : trace_(trace), slots_(trace), spans_(spans_of(trace)), streams_(trace.threads) {
    for (uint32_t thread = 0; thread < trace.threads; ++thread) {
      if (spans_[thread].first < trace.calls.size()) by_end_.push_back(thread);
    }
    std::sort(by_end_.begin(), by_end_.end(),
              [&](uint32_t a, uint32_t b) { return spans_[a].last < spans_[b].last; });
    for (size_t i = 0; i < trace.calls.size(); ++i) add(i);
  }

  const Streams& streams() const { return streams_; }
  const std::vector<uint32_t>& waits() const { return waits_; }
  uint32_t slots() const { return slots_.count(); }
  uint32_t first_thread() const { return trace_.calls.empty() ? 0 : trace_.calls[0].thread; }

 private:
  void add(size_t i) {
    const Call& call = trace_.calls[i];
    const uint64_t time = call.time_ns - std::min(call.time_ns, trace_.calls[0].time_ns);
    if (i > 0 && spans_[call.thread].first == i) start(call.thread, i, time);
    Operation operation{time, call.bytes, 0, Action::kAllocate, call.alignment_log2};
    if (call.kind == trace::kRelease) {
      operation.slot = slots_.release(call);
      operation.action = slots_.crosses(call) ? Action::kReleaseOfOther : Action::kRelease;
    } else {
      operation.slot = slots_.allocate(call);
    }
    streams_[call.thread].push_back(operation);
  }

  // Whoever called before starts it, after the threads that ended since the latest start.
  void start(uint32_t thread, size_t i, uint64_t time) {
    const uint64_t first = waits_.size();
    for (; waited_ < by_end_.size() && spans_[by_end_[waited_]].last < i; ++waited_) {
      if (by_end_[waited_] != trace_.calls[i - 1].thread) waits_.push_back(by_end_[waited_]);
    }
    streams_[trace_.calls[i - 1].thread].push_back(
        {time, first << 32 | (waits_.size() - first), thread, Action::kStartThread, 0});
  }

  const Trace& trace_;
  Slots slots_;
  std::vector<Span> spans_;
  std::vector<uint32_t> by_end_;  // threads
  size_t waited_ = 0;             // of by_end_
  Streams streams_;
  std::vector<uint32_t> waits_;
};

}  // namespace

Plan::Plan(const Trace& trace) {
  const Layout layout(trace);
  PlanHeader header{};
  header.streams = layout.streams().size();
  for (const auto& stream : layout.streams()) header.operations += stream.size();
  header.waits = layout.waits().size();
  header.slots = layout.slots();
  header.bytes = sizeof header + header.streams * sizeof(Stream) +
                 header.operations * sizeof(Operation) + header.waits * sizeof(uint32_t);
  descriptor_ = memfd_create("pktmalloc replay", 0);  // inherited
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(header.bytes)) != 0) {
    throw Failure("no memory for the replay: {}", strerror(errno));
  }
  void* memory = mmap(nullptr, header.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) throw Failure("no memory for the replay: {}", strerror(errno));
  header_ = new (memory) PlanHeader(header);
  uint64_t at = 0;
  for (uint32_t thread = 0; thread < header.streams; ++thread) {
    const std::vector<Operation>& stream = layout.streams()[thread];
    header_->stream_array()[thread] = {at, stream.size()};
    std::copy(stream.begin(), stream.end(), header_->operation_array() + at);
    at += stream.size();
  }
  std::copy(layout.waits().begin(), layout.waits().end(), header_->wait_array());
  header_->first_stream = layout.first_thread();
}

Plan::~Plan() {
  munmap(header_, header_->bytes);
  close(descriptor_);
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/replay/trace.h"

#include <cstring>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "tools/command/failure.h"
#include "tools/command/file_kind.h"
#include "tools/command/replay/blocks.h"

namespace pktmalloc {
namespace {

using Bytes = std::vector<unsigned char>;

trace::Header header_of(const Bytes& bytes, const std::string& path) {
  trace::Header header{};
  if (bytes.size() < sizeof header.magic ||
      memcmp(bytes.data(), trace::kMagic, sizeof header.magic) != 0) {
    throw wrong_kind(path, FileKind::kTrace);
  }
  if (bytes.size() < sizeof header) throw Failure("{} ends in the header of its trace", path);
  memcpy(&header, bytes.data(), sizeof header);
  if (header.version != trace::kVersion) {
    throw Failure("{} is a trace of version {}; this pktmalloc reads version {}", path,
                  header.version, trace::kVersion);
  }
  if (header.checksum != trace::checksum_of(header) || header.state > trace::State::kStopped ||
      memchr(header.program, 0, sizeof header.program) == nullptr) {
    throw Failure("{}: the header of the trace is damaged", path);
  }
  return header;
}

// Takes the records in order of time and finds the objects.
class Resolver {
 public:
  explicit Resolver(Trace& trace) : trace_(trace) {}

  void add(const Record& r, uint32_t thread) {
    if (r.kind == trace::kRelease || r.kind == trace::kMove) {
      const auto found = live_.find(r.address);
      if (found == live_.end()) {
        ++trace_.early_releases;
        return;
      }
      if (r.kind == trace::kMove) {
        moving_[{thread, r.address}] = found->second;
      } else {
        release(found->second, r, thread);
      }
      live_.erase(found);
      return;
    }
    Call call{r.time_ns, r.bytes, thread, 0, 0, CallKind::kAllocate, 0};
    if (r.is(trace::kZeroed)) {
      call.kind = CallKind::kAllocateZeroed;
    } else if (r.is(trace::kResized) || r.is(trace::kMoved)) {
      if (find_resized(r, thread, call.from)) call.kind = CallKind::kReallocate;
    } else {
      call.alignment_log2 = r.special;
    }
    const auto found = live_.find(r.address);
    if (found != live_.end()) {
      ++trace_.unseen_releases;
      release(found->second, r, thread);
    }
    if (trace_.objects == std::numeric_limits<uint32_t>::max()) {
      throw Failure("the trace has more than 4,294,967,295 allocations");
    }
    call.object = trace_.objects++;
    live_[r.address] = call.object;
    trace_.calls.push_back(call);
  }

 private:
  void release(uint32_t object, const Record& r, uint32_t thread) {
    trace_.calls.push_back({r.time_ns, 0, thread, object, 0, CallKind::kRelease, 0});
  }

  // The object that is no longer where it was.
  bool find_resized(const Record& r, uint32_t thread, uint32_t& object) {
    if (r.is(trace::kMoved)) {
      const auto found = moving_.find({thread, r.from});
      if (found == moving_.end()) return false;  // its move was counted as early
      object = found->second;
      moving_.erase(found);
      return true;
    }
    const auto found = live_.find(r.from);
    if (found == live_.end()) {
      ++trace_.early_releases;
      return false;
    }
    object = found->second;
    live_.erase(found);
    return true;
  }

  Trace& trace_;
  std::unordered_map<uint64_t, uint32_t> live_;               // by address
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> moving_;  // by thread and address
};

// Of one nanosecond, what gives memory back comes first: it may be taken at once.
unsigned rank_of(const Record& r) {
  if (r.kind >= trace::kRelease) return 0;
  return r.is(trace::kResized) ? 1 : 2;
}

void merge(const std::vector<BlockAt>& blocks, Trace& trace) {
  std::vector<ThreadReader> threads;
  std::unordered_map<uint32_t, uint32_t> indexes;
  for (const BlockAt& at : blocks) {
    const auto [index, is_new] =
        indexes.emplace(at.block.thread, static_cast<uint32_t>(threads.size()));
    if (is_new) threads.emplace_back();
    threads[index->second].add(at);
  }
  trace.threads = static_cast<uint32_t>(threads.size());
  using Next = std::tuple<uint64_t, unsigned, uint32_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> order;
  const auto push = [&](uint32_t thread) {
    if (!threads[thread].next()) return;
    const Record& r = threads[thread].record();
    order.emplace(r.time_ns, rank_of(r), thread);
  };
  for (uint32_t thread = 0; thread < threads.size(); ++thread) push(thread);
  Resolver resolver(trace);
  while (!order.empty()) {
    const uint32_t thread = std::get<2>(order.top());
    order.pop();
    resolver.add(threads[thread].record(), thread);
    push(thread);
  }
}

std::string warning_of(const trace::Header& header, const std::string& fault,
                       const std::string& path) {
  if (header.state == trace::State::kStopped) {
    return fmt::format("{}: the trace ended before its program, which said why", path);
  }
  if (fault.empty()) return "";
  if (header.state == trace::State::kRunning && fault.compare(0, 9, "it has no") == 0) {
    return fmt::format(
        "{}: {}: the program was killed, ended by _exit or is still running; each thread's last "
        "calls, up to {} KiB of records, are missing",
        path, fault, trace::kMostBlockBytes >> 10);
  }
  return fmt::format("{}: {}; what follows is left out", path, fault);
}

}  // namespace

Trace read_trace(const std::string& path) {
  const PlainFile file = read_plain(path, {trace::kMagic, sizeof trace::kMagic});
  if (file.bytes.size() < sizeof(trace::Header) && !file.fault.empty()) {
    throw Failure("{}: {}", path, file.fault);
  }
  Trace trace;
  trace.header = header_of(file.bytes, path);
  trace.bytes = file.file_bytes;
  trace.uncompressed_bytes = file.bytes.size();
  const Blocks blocks(file);
  trace.calls.reserve(blocks.records());
  merge(blocks.all(), trace);
  trace.warning = warning_of(trace.header, blocks.fault(), path);
  return trace;
}

}  // namespace pktmalloc

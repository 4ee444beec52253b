// SPDX-License-Identifier: MIT
#include "tools/command/replay/trace_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

constexpr size_t kSizesTold = 16;

struct Size {
  uint64_t bytes, requests, peak;  // peak: live at once
};

struct Info {
  uint64_t allocations = 0, aligned = 0, zeroed = 0, reallocations = 0, releases = 0;
  uint64_t from_other_threads = 0;       // of the releases
  uint64_t live = 0, live_bytes = 0;     // at the end
  uint64_t peak = 0, peak_bytes = 0;     // the most bytes at once, and the objects then
  double peak_seconds = 0, seconds = 0;  // since the first call
  std::vector<Size> sizes;               // the most frequent first
};

Info info_of(const Trace& trace) {
  Info info;
  std::vector<uint64_t> bytes(trace.objects);
  std::vector<uint32_t> owners(trace.objects);
  struct Counts {
    uint64_t requests, live, peak;
  };
  std::map<uint64_t, Counts> sizes;
  const auto leave = [&](uint32_t object) {
    --info.live;
    info.live_bytes -= bytes[object];
    --sizes[bytes[object]].live;
  };
  const auto seconds_at = [&](const Call& call) {
    return static_cast<double>(call.time_ns - trace.calls[0].time_ns) / 1e9;
  };
  for (const Call& call : trace.calls) {
    if (call.kind == CallKind::kRelease) {
      ++info.releases;
      info.from_other_threads += owners[call.object] != call.thread ? 1 : 0;
      leave(call.object);
      continue;
    }
    if (call.kind == CallKind::kReallocate) {
      ++info.reallocations;
      leave(call.from);
    } else {
      ++info.allocations;
      info.zeroed += call.kind == CallKind::kAllocateZeroed ? 1 : 0;
      info.aligned += call.alignment_log2 > 0 ? 1 : 0;
    }
    bytes[call.object] = call.bytes;
    owners[call.object] = call.thread;
    ++info.live;
    info.live_bytes += call.bytes;
    Counts& counts = sizes[call.bytes];
    ++counts.requests;
    counts.peak = std::max(counts.peak, ++counts.live);
    if (info.live_bytes <= info.peak_bytes) continue;
    info.peak_bytes = info.live_bytes;
    info.peak = info.live;
    info.peak_seconds = seconds_at(call);
  }
  if (!trace.calls.empty()) info.seconds = seconds_at(trace.calls.back());
  for (const auto& [size, counts] : sizes) {
    info.sizes.push_back({size, counts.requests, counts.peak});
  }
  std::stable_sort(info.sizes.begin(), info.sizes.end(),
                   [](const Size& a, const Size& b) { return a.requests > b.requests; });
  return info;
}

std::string counted(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string duration(double seconds) {
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1000) : fmt::format("{:.1f} s", seconds);
}

}  // namespace

std::string title_of(const Trace& trace) {
  const double seconds =
      trace.calls.empty()
          ? 0
          : static_cast<double>(trace.calls.back().time_ns - trace.calls[0].time_ns) / 1e9;
  return fmt::format("{} {}: {} calls of {} thread{} in {}", printable(trace.program()),
                     trace.header.pid, counted(trace.calls.size()), trace.threads,
                     trace.threads == 1 ? "" : "s", duration(seconds));
}

std::string info_text(const Trace& trace) {
  const Info info = info_of(trace);
  std::string text = title_of(trace) + "\n";
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<22}{}\n", name, value);
  };
  if (trace.header.forked_from != 0) {
    line("forked from", fmt::format("process {}", trace.header.forked_from));
  }
  line("allocations", fmt::format("{}, {} of them zeroed, {} aligned", counted(info.allocations),
                                  counted(info.zeroed), counted(info.aligned)));
  line("reallocations", counted(info.reallocations));
  line("releases", fmt::format("{}, {} of them of another thread's object", counted(info.releases),
                               counted(info.from_other_threads)));
  if (trace.early_releases > 0) {
    line("not replayed",
         fmt::format("{} calls for objects from before the trace", counted(trace.early_releases)));
  }
  if (trace.unseen_releases > 0) {
    line("releases not seen",
         fmt::format("{}, found by their address' next use", counted(trace.unseen_releases)));
  }
  line("most bytes at once", fmt::format("{} in {} objects, after {}", counted(info.peak_bytes),
                                         counted(info.peak), duration(info.peak_seconds)));
  line("left at the end",
       fmt::format("{} in {} objects", counted(info.live_bytes), counted(info.live)));
  const uint64_t records = trace.calls.size() + trace.early_releases - trace.unseen_releases;
  const auto size_of = [&](uint64_t bytes) {
    return fmt::format(
        "{} bytes, {:.1f} a call", counted(bytes),
        records == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(records));
  };
  line("file", size_of(trace.bytes));
  if (trace.bytes != trace.uncompressed_bytes) {
    line("uncompressed", size_of(trace.uncompressed_bytes));
  }
  text += fmt::format("\n  {:>14} {:>14} {:>14}\n", "bytes", "requests", "live at most");
  for (size_t i = 0; i < std::min(info.sizes.size(), kSizesTold); ++i) {
    const Size& size = info.sizes[i];
    text += fmt::format("  {:>14} {:>14} {:>14}\n", counted(size.bytes), counted(size.requests),
                        counted(size.peak));
  }
  if (info.sizes.size() > kSizesTold) {
    text += fmt::format("  {:>14} other sizes\n", counted(info.sizes.size() - kSizesTold));
  }
  return text;
}

std::string info_json(const Trace& trace) {
  const Info info = info_of(trace);
  nlohmann::ordered_json json = {{"program", printable(trace.program())},
                                 {"pid", trace.header.pid},
                                 {"forked_from", trace.header.forked_from},
                                 {"start", trace.header.start_epoch},
                                 {"threads", trace.threads},
                                 {"seconds", info.seconds},
                                 {"allocations", info.allocations},
                                 {"zeroed_allocations", info.zeroed},
                                 {"aligned_allocations", info.aligned},
                                 {"reallocations", info.reallocations},
                                 {"releases", info.releases},
                                 {"releases_in_other_threads", info.from_other_threads},
                                 {"early_releases", trace.early_releases},
                                 {"unseen_releases", trace.unseen_releases},
                                 {"peak_bytes", info.peak_bytes},
                                 {"peak_objects", info.peak},
                                 {"live_bytes", info.live_bytes},
                                 {"live_objects", info.live},
                                 {"file_bytes", trace.bytes},
                                 {"uncompressed_bytes", trace.uncompressed_bytes},
                                 {"whole", trace.warning.empty()}};
  nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
  for (const Size& size : info.sizes) {
    sizes.push_back(
        {{"bytes", size.bytes}, {"requests", size.requests}, {"live_at_most", size.peak}});
  }
  json["sizes"] = sizes;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/tune/size_recording.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sizeclass/slabs/class_table.h"
#include "tools/command/failure.h"
#include "tools/command/file_kind.h"

namespace pktmalloc {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kSchema = 1;
constexpr uint64_t kMost = uint64_t{1} << 47;  // of anything that a program can have

struct Damaged {};

uint64_t number(const Json& from, const char* key) {
  const Json& value = from.at(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kMost) throw Damaged();
  return value;
}

SizeRecord record_from(const Json& from) {
  const SizeRecord record{number(from, "bytes"), number(from, "alignment"), number(from, "calls"),
                          number(from, "live_at_peak"), number(from, "threads")};
  const bool fits = record.live_at_peak == 0 || record.bytes <= kMost / record.live_at_peak;
  if (!fits || std::popcount(record.alignment) > 1) throw Damaged();
  return record;
}

// Such as an allocator can have.
std::vector<uint64_t> classes_from(const Json& from) {
  std::vector<uint64_t> classes;
  for (const Json& value : from) {
    const uint64_t least = classes.empty() ? 1 : classes.back() + 1;
    if (!value.is_number_unsigned() || value < least || value > ClassTable::kMediumLimit) {
      throw Damaged();
    }
    classes.push_back(value);
  }
  if (classes.size() >= kMaxClasses) throw Damaged();
  return classes;
}

// Process id and start. Libraries before this key wrote one file a process, so such a file is told
// by its path.
std::string process_of(const Json& json, const std::string& path) {
  const auto started = json.find("started");
  if (started == json.end()) return path;
  if (!started->is_number()) throw Damaged();
  return fmt::format("{} {:.6f}", number(json, "pid"), started->get<double>());
}

// What one file tells.
SizeRecording recording_from(const std::string& path, const Json& json) {
  if (json.at("content") != "sizes") throw Damaged();
  if (const uint64_t schema = number(json, "schema"); schema != kSchema) {
    throw Failure("{} has schema {}; this pktmalloc reads schema {}", path, schema, kSchema);
  }
  SizeRecording recording;
  recording.programs.insert(json.at("program").get<std::string>());
  recording.files = 1;
  recording.threads = number(json, "threads");
  recording.missing = number(json, "missing");
  // Libraries before these keys did not write them.
  if (json.contains("memory_bytes")) {
    recording.memory = number(json, "memory_bytes");
    recording.usable_sizes = number(json, "usable_sizes");
    recording.classes = classes_from(json.at("classes"));
  }
  for (const Json& from : json.at("sizes")) recording.sizes.push_back(record_from(from));
  return recording;
}

// Of later files of a process this grows, or nothing has changed.
uint64_t age(const SizeRecording& recording) { return recording.calls() + recording.missing; }

template <typename Value>
uint64_t sum_of(const std::vector<SizeRecord>& sizes, Value value) {
  uint64_t sum = 0;
  for (const SizeRecord& record : sizes) sum += value(record);
  return sum;
}

}  // namespace

uint64_t SizeRecording::calls() const {
  return sum_of(sizes, [](const SizeRecord& r) { return r.calls; });
}

uint64_t SizeRecording::objects_at_peak() const {
  return sum_of(sizes, [](const SizeRecord& r) { return r.live_at_peak; });
}

uint64_t SizeRecording::bytes_at_peak() const {
  return sum_of(sizes, [](const SizeRecord& r) { return r.bytes * r.live_at_peak; });
}

std::vector<SizeRecording> read_sizes(const std::vector<std::string>& paths) {
  std::map<std::string, SizeRecording> processes;
  for (const std::string& path : paths) {
    std::ifstream stream(path);
    // A folder can be opened, but not read.
    if (!stream || (stream.peek() == EOF && stream.bad())) {
      throw Failure("cannot read {}: {}", path, strerror(errno));
    }
    const auto none = [&] { return wrong_kind(path, FileKind::kSizes); };
    try {
      const Json json = Json::parse(stream);
      SizeRecording recording = recording_from(path, json);
      const auto [at, is_first] = processes.try_emplace(process_of(json, path));
      SizeRecording& last = at->second;
      const uint64_t earlier = is_first ? 0 : last.earlier + 1;
      if (age(recording) >= age(last)) last = std::move(recording);
      last.earlier = earlier;
    } catch (const Json::exception&) {
      throw none();
    } catch (const Damaged&) {
      throw none();
    }
  }
  std::map<std::string, std::vector<SizeRecording>> programs;
  for (auto& [process, recording] : processes) {
    programs[*recording.programs.begin()].push_back(std::move(recording));
  }
  std::vector<SizeRecording> all;
  all.reserve(programs.size());
  for (const auto& [program, recordings] : programs) all.push_back(merge(recordings));
  return all;
}

SizeRecording merge(const std::vector<SizeRecording>& recordings) {
  SizeRecording all;
  std::map<std::pair<uint64_t, uint64_t>, SizeRecord> sums;
  if (!recordings.empty()) all.classes = recordings.front().classes;
  for (const SizeRecording& recording : recordings) {
    if (recording.classes != all.classes) all.classes.clear();
    all.memory += recording.memory;
    all.usable_sizes += recording.usable_sizes;
    all.programs.insert(recording.programs.begin(), recording.programs.end());
    all.files += recording.files;
    all.earlier += recording.earlier;
    all.threads += recording.threads;
    all.missing += recording.missing;
    for (const SizeRecord& record : recording.sizes) {
      SizeRecord& sum = sums[{record.bytes, record.alignment}];
      sum.bytes = record.bytes;
      sum.alignment = record.alignment;
      sum.calls += record.calls;
      sum.live_at_peak += record.live_at_peak;
      sum.threads += record.threads;
    }
  }
  all.sizes.reserve(sums.size());
  for (const auto& [key, record] : sums) all.sizes.push_back(record);
  return all;
}

}  // namespace pktmalloc

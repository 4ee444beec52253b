// SPDX-License-Identifier: MIT
#include "tools/command/tune/size_recording.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

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

// What one file tells.
struct SizeFile {
  std::string program;
  uint64_t threads = 0;
  uint64_t missing = 0;
  std::vector<SizeRecord> records;
  uint64_t calls = 0;

  // Of later files of a process this grows, or nothing has changed.
  uint64_t age() const { return calls + missing; }
};

// Process id and start. Libraries before this key wrote one file a process, so such a file is told
// by its path.
std::string process_of(const Json& json, const std::string& path) {
  const auto started = json.find("started");
  if (started == json.end()) return path;
  if (!started->is_number()) throw Damaged();
  return fmt::format("{} {:.6f}", number(json, "pid"), started->get<double>());
}

SizeFile file_from(const std::string& path, const Json& json) {
  if (json.at("content") != "sizes") throw Damaged();
  if (const uint64_t schema = number(json, "schema"); schema != kSchema) {
    throw Failure("{} has schema {}; this pktmalloc reads schema {}", path, schema, kSchema);
  }
  SizeFile file{json.at("program"), number(json, "threads"), number(json, "missing"), {}, 0};
  for (const Json& from : json.at("sizes")) {
    file.records.push_back(record_from(from));
    file.calls += file.records.back().calls;
  }
  return file;
}

using SizeKey = std::pair<uint64_t, uint64_t>;  // bytes, alignment

void add(std::map<SizeKey, SizeRecord>& sums, const std::vector<SizeRecord>& records) {
  for (const SizeRecord& record : records) {
    SizeRecord& sum = sums[{record.bytes, record.alignment}];
    sum.bytes = record.bytes;
    sum.alignment = record.alignment;
    sum.calls += record.calls;
    sum.live_at_peak += record.live_at_peak;
    sum.threads += record.threads;
  }
}

std::vector<SizeRecord> ascending(const std::map<SizeKey, SizeRecord>& sums) {
  std::vector<SizeRecord> sizes;
  sizes.reserve(sums.size());
  for (const auto& [key, record] : sums) sizes.push_back(record);
  return sizes;
}

// Of the processes of one program.
SizeRecording sum_up(const std::vector<const SizeFile*>& files, uint64_t earlier) {
  SizeRecording all;
  std::map<SizeKey, SizeRecord> sums;
  for (const SizeFile* file : files) {
    all.programs.insert(file->program);
    all.threads += file->threads;
    all.missing += file->missing;
    all.files += 1;
    add(sums, file->records);
  }
  all.earlier = earlier;
  all.sizes = ascending(sums);
  return all;
}

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
  std::map<std::string, SizeFile> processes;
  std::map<std::string, uint64_t> files;  // of each process
  for (const std::string& path : paths) {
    std::ifstream stream(path);
    // A folder can be opened, but not read.
    if (!stream || (stream.peek() == EOF && stream.bad())) {
      throw Failure("cannot read {}: {}", path, strerror(errno));
    }
    const auto none = [&] { return wrong_kind(path, FileKind::kSizes); };
    try {
      const Json json = Json::parse(stream);
      SizeFile file = file_from(path, json);
      const std::string process = process_of(json, path);
      ++files[process];
      SizeFile& last = processes[process];
      if (file.age() >= last.age()) last = std::move(file);
    } catch (const Json::exception&) {
      throw none();
    } catch (const Damaged&) {
      throw none();
    }
  }
  struct Program {
    std::vector<const SizeFile*> last;
    uint64_t earlier = 0;
  };
  std::map<std::string, Program> programs;
  for (const auto& [process, file] : processes) {
    programs[file.program].last.push_back(&file);
    programs[file.program].earlier += files[process] - 1;
  }
  std::vector<SizeRecording> all;
  all.reserve(programs.size());
  for (const auto& [name, program] : programs) {
    all.push_back(sum_up(program.last, program.earlier));
  }
  return all;
}

SizeRecording merge(const std::vector<SizeRecording>& recordings) {
  SizeRecording all;
  std::map<SizeKey, SizeRecord> sums;
  for (const SizeRecording& recording : recordings) {
    all.programs.insert(recording.programs.begin(), recording.programs.end());
    all.files += recording.files;
    all.earlier += recording.earlier;
    all.threads += recording.threads;
    all.missing += recording.missing;
    add(sums, recording.sizes);
  }
  all.sizes = ascending(sums);
  return all;
}

}  // namespace pktmalloc

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

class Merger {
 public:
  void add(const std::string& path, const Json& json) {
    if (json.at("content") != "sizes") throw Damaged();
    if (const uint64_t schema = number(json, "schema"); schema != kSchema) {
      throw Failure("{} has schema {}; this pktmalloc reads schema {}", path, schema, kSchema);
    }
    all_.programs.insert(json.at("program").get<std::string>());
    all_.threads += number(json, "threads");
    all_.missing += number(json, "missing");
    all_.files += 1;
    for (const Json& from : json.at("sizes")) {
      const SizeRecord record = record_from(from);
      SizeRecord& sum = records_[{record.bytes, record.alignment}];
      sum.bytes = record.bytes;
      sum.alignment = record.alignment;
      sum.calls += record.calls;
      sum.live_at_peak += record.live_at_peak;
      sum.threads += record.threads;
    }
  }

  SizeRecording finish() {
    for (const auto& [key, record] : records_) all_.sizes.push_back(record);
    return std::move(all_);
  }

 private:
  SizeRecording all_;
  std::map<std::pair<uint64_t, uint64_t>, SizeRecord> records_;
};

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

SizeRecording read_sizes(const std::vector<std::string>& paths) {
  Merger merger;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    // A folder can be opened, but not read.
    if (!file || (file.peek() == EOF && file.bad())) {
      throw Failure("cannot read {}: {}", path, strerror(errno));
    }
    const auto none = [&] {
      return Failure("{} is not a whole file of sizes (PKTMALLOC_SIZES=FILE writes one)", path);
    };
    try {
      merger.add(path, Json::parse(file));
    } catch (const Json::exception&) {
      throw none();
    } catch (const Damaged&) {
      throw none();
    }
  }
  return merger.finish();
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/profile/pprof.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <tuple>

namespace pktmalloc {
namespace {

using protozero::pbf_writer;

// Fields of profile.proto, by message.
enum Profile {
  kSampleType = 1,
  kSample,
  kMapping,
  kLocation,
  kFunction,
  kStringTable,
  kPeriodType = 11,
  kPeriod,
  kDefaultSampleType = 14
};
enum ValueType { kType = 1, kUnit };
enum Sample { kLocationId = 1, kValue };
enum Mapping {
  kMappingId = 1,
  kFilename = 5,
  kHasFunctions = 7,
  kHasFilenames,
  kHasLineNumbers,
  kHasInlineFrames
};
enum Location { kId = 1, kLocationMapping, kLine = 4 };
enum Line { kFunctionId = 1, kLineNumber };
enum Function { kFunctionNumber = 1, kName, kSystemName, kFile };

// As pprof calls them in heap profiles of others.
const char* pprof_name(Counted counted) {
  static const char* const kNames[] = {"inuse", "peak", "alloc", "temporary"};
  return kNames[static_cast<size_t>(counted)];
}

class Writer {
 public:
  Writer(const HeapProfile& profile, Counted shown) {
    string("");  // the first one must be empty
    for (const Counted each : kAllCounted) {
      if (!profile.has(each)) continue;
      offered_.push_back(each);
      value_type(kSampleType, std::string(pprof_name(each)) + "_objects", "count");
      value_type(kSampleType, std::string(pprof_name(each)) + "_space", "bytes");
    }
    value_type(kPeriodType, "space", "bytes");
    out_.add_int64(kPeriod, static_cast<int64_t>(profile.rate));
    out_.add_int64(kDefaultSampleType, string(std::string(pprof_name(shown)) + "_space"));
    pbf_writer mapping(out_, kMapping);
    mapping.add_uint64(kMappingId, 1);
    mapping.add_int64(kFilename, string(profile.program));
    for (const auto has : {kHasFunctions, kHasFilenames, kHasLineNumbers, kHasInlineFrames}) {
      mapping.add_bool(has, true);
    }
  }

  void add(const NamedStack& stack) {
    std::vector<uint64_t> locations;
    for (const FrameName& frame : stack.frames) locations.push_back(location(frame));
    std::vector<int64_t> values;
    for (const Counted each : offered_) {
      values.push_back(std::llround(stack.now[each].objects));
      values.push_back(std::llround(stack.now[each].bytes));
    }
    pbf_writer sample(out_, kSample);
    sample.add_packed_uint64(kLocationId, locations.begin(), locations.end());
    sample.add_packed_int64(kValue, values.begin(), values.end());
  }

  std::string finished() {
    std::vector<const std::string*> in_order(strings_.size());
    for (const auto& [text, number] : strings_) in_order[static_cast<size_t>(number)] = &text;
    for (const std::string* const text : in_order) out_.add_string(kStringTable, *text);
    return std::move(data_);
  }

 private:
  int64_t string(const std::string& text) {
    return strings_.try_emplace(text, strings_.size()).first->second;
  }

  void value_type(Profile field, const std::string& type, const std::string& unit) {
    pbf_writer value(out_, field);
    value.add_int64(kType, string(type));
    value.add_int64(kUnit, string(unit));
  }

  uint64_t function(const std::string& name, const std::string& file) {
    const auto [at, added] = functions_.try_emplace({name, file}, functions_.size() + 1);
    if (added) {
      pbf_writer message(out_, kFunction);
      message.add_uint64(kFunctionNumber, at->second);
      message.add_int64(kName, string(name));
      message.add_int64(kSystemName, string(name));
      message.add_int64(kFile, string(file));
    }
    return at->second;
  }

  // Of a line "map.cpp:12", if it is known, else of the module.
  uint64_t location(const FrameName& frame) {
    const size_t colon = frame.line.rfind(':');
    const bool has_line = colon != std::string::npos;
    const std::string file = has_line ? frame.line.substr(0, colon) : frame.module;
    const long line = has_line ? strtol(frame.line.c_str() + colon + 1, nullptr, 10) : 0;
    const auto [at, added] =
        locations_.try_emplace({frame.function, file, line}, locations_.size() + 1);
    if (added) {
      const uint64_t number = function(frame.function, file);
      pbf_writer message(out_, kLocation);
      message.add_uint64(kId, at->second);
      message.add_uint64(kLocationMapping, 1);
      pbf_writer line_message(message, kLine);
      line_message.add_uint64(kFunctionId, number);
      line_message.add_int64(kLineNumber, line);
    }
    return at->second;
  }

  std::string data_;
  pbf_writer out_{data_};
  std::vector<Counted> offered_;
  std::map<std::string, int64_t> strings_;
  std::map<std::pair<std::string, std::string>, uint64_t> functions_;
  std::map<std::tuple<std::string, std::string, long>, uint64_t> locations_;
};

}  // namespace

std::string pprof_profile(const std::vector<NamedStack>& stacks, const HeapProfile& profile,
                          Counted counted) {
  Writer writer(profile, counted);
  for (const NamedStack& stack : stacks) writer.add(stack);
  return writer.finished();
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/reading.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tools/command/failure.h"
#include "tools/command/file_kind.h"

namespace pktmalloc {
namespace {

using Json = nlohmann::json;

void read_classes(const Json& classes, HeapStatistics& heap) {
  for (const Json& from : classes) {
    if (heap.classes == kMaxClasses) return;
    ClassStatistics& c = heap.of[heap.classes++];
    c.object_bytes = from.at("bytes");
#define CLASS_STATISTIC(key, kind, help) c.key = from.value(#key, uint64_t{0});
#include "preload/formats/statistics.def"
  }
}

void read_process(const Json& from, ProcessStatistics& p) {
#define PROCESS_STATISTIC(key, kind, help) p.key = from.value(#key, uint64_t{0});
#include "preload/formats/statistics.def"
}

void read_passed(const Json& from, Snapshot& snapshot) {
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    const Json bands = from.value(kPassReasonNames[reason], Json::object());
    for (unsigned band = 0; band < kSizeBands; ++band) {
      snapshot.passed[reason][band] = bands.value(kSizeBandNames[band], uint64_t{0});
    }
  }
}

Reading from_json(const Json& from) {
  Reading reading;
  reading.program = from.at("program");
  reading.version = from.at("version");
  reading.pid = from.at("pid");
  reading.time = from.at("time");
  read_process(from.at("process"), reading.snapshot.process);
  read_passed(from.at("passed"), reading.snapshot);
  read_classes(from.at("classes"), reading.snapshot.heap);
  HeapStatistics& heap = reading.snapshot.heap;
  const ProcessStatistics& p = reading.snapshot.process;
  heap.metadata_bytes = p.metadata_bytes;
  heap.reserved_bytes = p.reserved_bytes;
  heap.waiting_bytes = p.waiting_bytes;
  heap.threads_seen = p.threads_seen;
  heap.threads_alive = p.threads_alive;
  return reading;
}

// Of what begins as something else, "": a core file may be larger than the memory.
std::string text_of(std::istream& stream) {
  for (const char mark : {'\xEF', '\xBB', '\xBF'}) {  // of UTF-8, as some editors write it
    if (stream.peek() == static_cast<unsigned char>(mark)) stream.get();
  }
  if ((stream >> std::ws).peek() != '{') return "";
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string text_of(const std::string& path) {
  if (path == "-") return text_of(std::cin);
  std::ifstream file(path);
  if (!file) throw Failure("cannot read {}: {}", path, strerror(errno));
  if (std::filesystem::is_directory(path)) throw Failure("cannot read {}: it is a folder", path);
  return text_of(file);
}

// Begins as the library's statistics do, and ends in their middle.
bool is_cut_off(const std::string& text, const Json::parse_error& error) {
  const std::string start = text.substr(0, 200);
  return error.byte > text.size() && start.starts_with('{') &&
         start.find("\"schema\"") != std::string::npos &&
         start.find("\"content\"") == std::string::npos;
}

}  // namespace

Reading read_statistics(const std::string& file) {
  const std::string text = text_of(file);
  const std::string path = file == "-" ? "stdin" : file;
  try {
    const Json json = Json::parse(text);
    const int schema = json.at("schema");
    if (schema != kStatisticsSchema) {
      throw Failure("{} has schema {}; this pktmalloc reads schema {}", path, schema,
                    kStatisticsSchema);
    }
    return from_json(json);
  } catch (const Json::parse_error& error) {
    if (!is_cut_off(text, error)) throw wrong_kind(path, FileKind::kStatistics);
    throw Failure("{} is cut off at byte {}: the rest of its statistics is missing", path,
                  text.size());
  } catch (const Json::exception&) {
    throw wrong_kind(path, FileKind::kStatistics);
  }
}

}  // namespace pktmalloc

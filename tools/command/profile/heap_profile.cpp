// SPDX-License-Identifier: MIT
#include "tools/command/profile/heap_profile.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "preload/formats/heap_profile.h"
#include "tools/command/failure.h"
#include "tools/command/file_kind.h"
#include "tools/command/text/printable.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

constexpr char kHeader[] = "heap profile:";

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

// Files are looked for by it.
bool is_hexadecimal(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return isxdigit(c) != 0; });
}

// "5: 25000 [5: 25000] @ 0x55c8fbdf220f 0x55c8fbdf225b"
bool read_place(const std::string& line, HeapProfile::Place& place) {
  int at = 0;
  Estimate& live = place.amounts[Counted::kLive];
  Estimate& total = place.amounts[Counted::kTotal];
  if (sscanf(line.c_str(), "%lf: %lf [%lf: %lf] @%n", &live.objects, &live.bytes, &total.objects,
             &total.bytes, &at) != 4 ||
      at == 0) {
    return false;
  }
  const char* text = line.c_str() + at;
  for (char* end; *text != '\0'; text = end) {
    const uint64_t address = strtoull(text, &end, 16);
    if (end == text) break;
    place.frames.push_back(address);
  }
  return text[strspn(text, " \r")] == '\0' && !place.frames.empty();
}

// "# peak 5: 25000 samples 5 error 0"
void read_amount(const std::string& line, const char* name, Estimate& amount) {
  const std::string format = std::string("# ") + name + " %lf: %lf samples %" SCNu64 " error %lf";
  Estimate read;
  if (sscanf(line.c_str(), format.c_str(), &read.objects, &read.bytes, &read.samples,
             &read.error) == 4) {
    amount = read;
  }
}

void read_comment(const std::string& line, HeapProfile& profile) {
  HeapProfile::Place none;
  Estimates& amounts = profile.places.empty() ? none.amounts : profile.places.back().amounts;
  Estimate& live = amounts[Counted::kLive];
  Estimate& total = amounts[Counted::kTotal];
  uint64_t address = 0;
  char text[256];
  sscanf(line.c_str(), "# samples %" SCNu64 " %" SCNu64 " errors %lf %lf", &live.samples,
         &total.samples, &live.error, &total.error);
  uint64_t thread = 0, words[3] = {};  // the last word ends it
  if (sscanf(line.c_str(), "# thread %" SCNu64 " %" SCNx64 " %" SCNx64, &thread, &words[0],
             &words[1]) == 3 &&
      !profile.places.empty()) {
    profile.places.back().thread =
        fmt::format("{}, thread {}", printable(reinterpret_cast<const char*>(words)), thread);
  }
  if (line == "# cut" && !profile.places.empty()) profile.places.back().is_cut = true;
  read_amount(line, "peak", amounts[Counted::kPeak]);
  read_amount(line, "temporary", amounts[Counted::kTemporary]);
  sscanf(line.c_str(), "# schema %d", &profile.schema);
  sscanf(line.c_str(), "# rate %" SCNu64 " lost %" SCNu64, &profile.rate, &profile.lost);
  if (sscanf(line.c_str(), "# build-id %" SCNx64 " %255s", &address, text) == 2) {
    for (MappedFile& m : profile.mappings) {
      if (m.start <= address && address < m.end && is_hexadecimal(text)) m.build_id = text;
    }
  }
  // "# pktmalloc 0.1.0: redis-server, process 15762"
  const size_t name = line.find(": ");
  const size_t process = line.rfind(", process ");
  if (starts_with(line, "# pktmalloc ") && name != std::string::npos &&
      process != std::string::npos && process >= name + 2) {
    profile.program = line.substr(name + 2, process - name - 2);
    profile.pid = atoi(line.c_str() + process + strlen(", process "));
  }
}

bool read_mapping(const std::string& line, MappedFile& m) {
  int at = 0;
  char rights[8];
  if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &m.start, &m.end,
             rights, &m.offset, &at) != 4) {
    return false;
  }
  m.path = line.substr(std::min(static_cast<size_t>(at), line.size()));
  return strlen(rights) == 4 && rights[2] == 'x';
}

}  // namespace

const char* counted_option(Counted counted) {
  static const char* const kOptions[] = {"live", "peak", "total", "temporary"};
  return kOptions[static_cast<size_t>(counted)];
}

const char* counted_text(Counted counted) {
  static const char* const kTexts[] = {"live", "live at the peak", "allocated since start",
                                       "temporary"};
  return kTexts[static_cast<size_t>(counted)];
}

Estimate& Estimate::operator+=(const Estimate& other) {
  objects += other.objects;
  bytes += other.bytes;
  error = std::hypot(error, other.error);
  samples += other.samples;
  return *this;
}

Estimates& Estimates::operator+=(const Estimates& other) {
  for (const Counted counted : kAllCounted) (*this)[counted] += other[counted];
  return *this;
}

bool HeapProfile::has_threads() const {
  return std::any_of(places.begin(), places.end(),
                     [](const Place& p) { return !p.thread.empty(); });
}

void HeapProfile::forget_threads() {
  for (Place& place : places) place.thread.clear();
}

const MappedFile* HeapProfile::mapping_of(uint64_t address) const {
  for (const MappedFile& m : mappings) {
    if (m.start <= address && address < m.end) return &m;
  }
  return nullptr;
}

std::string missing_text(const HeapProfile& profile) {
  return fmt::format("a place that holds less than {} may be missing",
                     bytes_text(static_cast<double>(kSeldomMissed * profile.rate)));
}

HeapProfile read_heap_profile(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw Failure("cannot read {}: it is a folder", path);
  std::ifstream file(path);
  if (!file) throw Failure("cannot read {}: {}", path, strerror(errno));
  HeapProfile profile;
  profile.file = path;
  std::string line;
  const bool may_be_one = file.peek() == *kHeader;  // a line of another file may have no end
  if (!may_be_one || !std::getline(file, line) || !starts_with(line, kHeader) ||
      line.find("@ heapprofile") == std::string::npos) {
    throw wrong_kind(path, FileKind::kHeapProfile);
  }
  bool in_mappings = false;
  bool ended = false;
  for (size_t number = 2; std::getline(file, line); ++number) {
    HeapProfile::Place place;
    MappedFile mapping{};
    if (line.empty()) continue;
    if (line[0] == '#') {
      read_comment(line, profile);
      if (profile.schema > kProfileSchema) {
        throw Failure("{} is a heap profile of schema {}; this pktmalloc reads up to {}", path,
                      profile.schema, kProfileSchema);
      }
      ended = line == "# end";
    } else if (starts_with(line, "MAPPED_LIBRARIES:")) {
      in_mappings = true;
    } else if (in_mappings) {
      if (read_mapping(line, mapping)) profile.mappings.push_back(mapping);
    } else if (read_place(line, place)) {
      profile.places.push_back(std::move(place));
    } else if (!file.eof()) {
      throw Failure("{} is damaged: line {} is no stack", path, number);
    }
  }
  if (!in_mappings) throw Failure("{} is cut off: its mappings are missing", path);
  // Those of gperftools have no such mark.
  if (profile.pid != 0 && !ended) throw Failure("{} is cut off: its last lines are missing", path);
  return profile;
}

}  // namespace pktmalloc

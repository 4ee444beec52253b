// SPDX-License-Identifier: MIT
#include "tools/command/recovery/recovery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "preload/formats/descriptor_name.h"
#include "preload/formats/format.h"
#include "preload/formats/quiet_write.h"
#include "preload/formats/sizes.h"
#include "tools/command/failure.h"
#include "tools/command/system/output_file.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/text/shell_words.h"

namespace pktmalloc {

using namespace recording;

namespace {

// The library creates its files for their owner alone.
class OwnersFiles {
 public:
  OwnersFiles() : before_(umask(077)) {}
  ~OwnersFiles() { umask(before_); }
  OwnersFiles(const OwnersFiles&) = delete;
  OwnersFiles& operator=(const OwnersFiles&) = delete;

 private:
  mode_t before_;
};

// What `print` prints.
template <typename Print>
std::string printed(const Print& print) {
  for (size_t room = size_t{64} << 10;; room *= 4) {
    std::string text(room, '\0');
    Writer out(text.data(), text.size());
    print(out);
    out.finish();
    if (out.length() >= room) continue;
    text.resize(out.length());
    return text;
  }
}

// No program's end waits for a pipe's reader, and neither do we.
void write_pipe(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | link_flag(path));
  const bool written = fd >= 0 && write_all(fd, text.data(), text.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written) return;
  throw Failure("cannot write {}: {}", path,
                error == ENXIO    ? "nobody reads it"
                : error == EAGAIN ? "its reader takes nothing"
                                  : strerror(error));
}

void write_file(const std::string& path, const std::string& text) {
  const OwnersFiles owners;
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored)) return write_pipe(path, text);
  OutputFile(path, Links::kRefused).write(text);
}

std::optional<Moment> last_moment(const Header& header) {
  const Moment* const inside = header.inside.last();
  const Moment* const outside = header.outside.last();
  if (inside == nullptr && outside == nullptr) return {};
  const bool later =
      inside == nullptr || (outside != nullptr && outside->time_ms > inside->time_ms);
  Moment moment = later ? *outside : *inside;
  // A large process does not count its pages at every moment.
  uint64_t& resident = moment.snapshot.process.resident_bytes;
  if (resident == 0 && outside != nullptr) {
    resident = outside->snapshot.process.resident_bytes;
  }
  return moment;
}

bool recover_statistics(const RecordingFile& recording) {
  const std::optional<Moment> moment = last_moment(recording.header());
  const std::string program = recording.program();
  if (!moment) {
    tell(fmt::format(
        "the statistics of {}, process {}, are lost: they were not written, and nobody read "
        "them before it ended",
        program, recording.header().pid));
    return false;
  }
  Snapshot snapshot = moment->snapshot;
  snapshot.heap.classes = std::min<unsigned>(snapshot.heap.classes, kMaxClasses);
  const std::string version = recording.library();
  const Origin origin{program.c_str(), version.c_str(), recording.header().pid, moment->time_ms, 0};
  const std::string path = recording.report_path(Content::kStatistics);
  if (path.empty()) {
    fputs(printed([&](Writer& out) { write_text(out, origin, snapshot); }).c_str(), stderr);
    return false;
  }
  write_file(path, printed([&](Writer& out) {
               if (path.ends_with(".json")) {
                 write_json(out, origin, snapshot);
               } else if (path.ends_with(".prom")) {
                 write_prometheus(out, snapshot);
               } else {
                 write_text(out, origin, snapshot);
               }
             }));
  return true;
}

bool recover_sizes(const RecordingFile& recording) {
  const Header& header = recording.header();
  const std::string program = recording.program();
  const std::string version = recording.library();
  const uint64_t* const classes = header.size_classes;
  const std::span used(classes, std::find(classes, classes + kMaxClasses, 0));
  struct stat file {};
  stat(recording.path().c_str(), &file);  // changed by the last call, more or less
  const uint64_t changed_ms = static_cast<uint64_t>(file.st_mtime) * 1000;
  std::vector<SizeCounts> rows;
  uint64_t peak = 0;
  for (uint32_t i = 1; i < header.sizes; ++i) {
    const SizeRow* const row = recording.find<SizeRow>(ChunkKind::kSizes, i);
    if (row == nullptr || row->counts.calls == 0) continue;
    SizeCounts& counts = rows.emplace_back(row->counts);
    if (row->held_at != header.size_peak) counts.live_at_peak = row->live;
    if (counts.bytes <= kLargestAtPeak) peak += counts.bytes * counts.live_at_peak;
  }
  const std::string path = recording.report_path(Content::kSizes);
  write_file(path, printed([&](Writer& out) {
               write_sizes_head(out, {{program.c_str(), version.c_str(), header.pid, changed_ms, 0},
                                      header.sizes_started_us,
                                      peak,
                                      header.size_totals,
                                      used});
               for (const SizeCounts& row : rows) write_size(out, row, &row == rows.data());
               out.print(kSizesEnd);
             }));
  return true;
}

// None where they are missing.
PlaceFrames frames_of(const RecordingFile& recording, const Place& place) {
  const uint32_t first = place.first_frame, count = place.frame_count;
  const auto* const frames = recording.find<uint64_t>(ChunkKind::kFrames, first);
  const bool whole = frames != nullptr && count <= kFramesInChunk - first % kFramesInChunk;
  return {frames, whole ? count : 0, place.is_cut};
}

bool recover_profile(const RecordingFile& recording) {
  const Header& header = recording.header();
  const std::string program = recording.program();
  const std::string version = recording.library();
  struct Found {
    const Place* place;
    PlaceSums sums;
  };
  std::vector<Found> places;
  PlaceSums all{};
  for (uint32_t i = 1; i < header.places; ++i) {
    const Place* const place = recording.find<Place>(ChunkKind::kPlaces, i);
    if (place == nullptr) continue;
    PlaceSums sums = place->sums;
    if (place->held_at != header.profile_peak) sums.peak = sums.live;
    places.push_back({place, sums});
    all += sums;
  }
  const std::string path = recording.report_path(Content::kProfile);
  write_file(path, printed([&](Writer& out) {
               write_profile_head(out,
                                  {{program.c_str(), version.c_str(), header.pid, 0, 0},
                                   header.profile_rate,
                                   header.profile_lost},
                                  all);
               for (const auto& [place, sums] : places) {
                 write_profile_place(out, sums, frames_of(recording, *place));
               }
               out.print(kProfileMappings);
               if (const uint32_t* const bytes = header.mappings.last()) {
                 const auto place = static_cast<uint32_t>(bytes - header.mappings.places);
                 const char* const text = recording.chunk(ChunkKind::kMappings, place);
                 if (text != nullptr) out.put(text, std::min<size_t>(*bytes, kChunkBytes));
               }
               out.print(kProfileEnd);
             }));
  return true;
}

constexpr struct {
  Content content;
  const char* what;
  const char* command;                  // that reads it
  bool (*write)(const RecordingFile&);  // false: there is no file
} kReports[] = {{Content::kTrace, "calls", "replay", recover_trace},
                {Content::kStatistics, "statistics", "report", recover_statistics},
                {Content::kSizes, "sizes", "tune", recover_sizes},
                {Content::kProfile, "samples", "profile", recover_profile}};

bool reads(const std::string& command, const std::string& path) {
  return command != "report" || path.ends_with(".json");
}

// Has another program than the recorded one, that the process became, written its own report since
// the recording's last sign of life?
bool is_of_another(const RecordingFile& recording, const std::string& path, bool is_another) {
  constexpr uint64_t kTickMs = 10;  // by which a file may seem to be older
  struct stat report {};
  struct stat own {};
  if (lstat(path.c_str(), &report) != 0 || stat(recording.path().c_str(), &own) != 0) return false;
  const auto time_ms = [](const struct stat& file) {
    return static_cast<uint64_t>(file.st_mtim.tv_sec) * 1000 +
           static_cast<uint64_t>(file.st_mtim.tv_nsec) / 1000000;
  };
  const std::optional<Moment> moment = last_moment(recording.header());
  const uint64_t last_ms = std::max(moment ? moment->time_ms : 0, time_ms(own));
  return S_ISREG(report.st_mode) && (is_another || report.st_uid != own.st_uid) &&
         time_ms(report) + kTickMs >= last_ms;
}

}  // namespace

bool is_within(const std::string& path, const std::string& folder) {
  return !folder.empty() && path.starts_with(folder + "/");
}

bool recover(const RecordingFile& recording, const std::string& untold, bool is_another) {
  bool all = true;
  for (const auto& report : kReports) {
    const std::string path = recording.report_path(report.content);
    if (!recording.wanted(report.content)) continue;
    // A trace grows as the program runs, and its start says whose it is.
    const bool grows = report.content == Content::kTrace;
    if (!grows && is_of_another(recording, path, is_another)) continue;
    try {
      const bool written = report.write(recording);
      if (!written || is_within(path, untold)) continue;
      tell(fmt::format("{} are in {}", report.what, path) +
           (reads(report.command, path)
                ? fmt::format("; read them with: pktmalloc {} {}", report.command, shell_word(path))
                : ""));
    } catch (const Failure& failure) {
      tell(failure.what());
      all = false;
    }
  }
  if (recording.header().refused > 0) {
    tell(fmt::format("of {}, process {}, some is missing: the recording found no room for it",
                     recording.program(), recording.header().pid));
  }
  return all;
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "preload/reports/report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "preload/base/kept_stderr.h"
#include "preload/base/lock_rank.h"
#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/report_file.h"
#include "preload/contract/format.h"
#include "preload/observers/size_recording.h"
#include "preload/process/recording.h"
#include "preload/profile/format_leaks.h"
#include "preload/profile/format_profile.h"
#include "preload/profile/profile.h"
#include "preload/reports/moment.h"
#include "preload/reports/take_snapshot.h"
#include "sizeclass/keep_errno.h"
#include "sizeclass/mutex.h"

namespace pktmalloc {

namespace {

// What a report needs but a small thread's stack cannot hold.
struct Room {
  Snapshot snapshot;
  ReportFile file;

  void write_to(int fd) {
    take_snapshot(snapshot);
    measure_resident(snapshot);
    Writer out(fd, file.buffer, sizeof file.buffer);
    write_text(out, this_process(), snapshot);
    out.finish();
  }
};

// Held while a report is written; guards what follows.
constinit Mutex writing{lock_rank(OuterRank::kReport)};
constinit Room room{};
unsigned reports = 0;
bool ended = false;  // the report at exit was the last

// In the format that the path's ending names.
void write_statistics(Writer& out) {
  if (room.file.ends_with(".json")) {
    write_json(out, this_process(), room.snapshot);
  } else if (room.file.ends_with(".prom")) {
    write_prometheus(out, room.snapshot);
  } else {
    write_text(out, this_process(), room.snapshot);
  }
}

// `what` is for the line that says that it cannot be written, `told` and `reader` for the line that
// says where it is.
struct Content {
  recording::Content content;
  const char* option;
  const char* what;
  void (*print)(Writer& out);
  const char* told;
  const char* reader;
  const char* read_ending;  // of the files that the reader reads; "": any
};
constexpr Content kStatistics{recording::Content::kStatistics,
                              "STATS",
                              "statistics",
                              write_statistics,
                              "statistics",
                              "report",
                              ".json"};
constexpr Content kProfile{recording::Content::kProfile,
                           "PROFILE",
                           "the heap profile",
                           write_profile,
                           "samples",
                           "profile",
                           ""};
constexpr Content kSizes{
    recording::Content::kSizes, "SIZES", "sizes", write_sizes, "sizes", "tune", ""};

// What a recording would have to replace from now on.
void settle(const Content& content, const char* pattern, bool at_exit) {
  if (at_exit) {
    settle_report(content.content);
  } else {
    record_report(content.content, pattern, reports + 1);
  }
}

void report_content(const Content& content, const char* pattern, bool at_exit) {
  ReportFile& file = room.file;
  if (!file.name(pattern, reports)) {
    message("PKTMALLOC_%s=%s: %s", content.option, pattern, error_text(ENAMETOOLONG));
  } else if (file.write(content.what, content.print) && at_exit) {
    const bool is_read = file.ends_with(content.read_ending);
    tell_file(content.told, file.path, is_read ? content.reader : nullptr);
  }
  settle(content, pattern, at_exit);
}

void report_statistics(bool at_exit) {
  const char* pattern = options().stats_path;
  if (*pattern != '\0') {
    take_snapshot(room.snapshot);
    measure_resident(room.snapshot);
    report_content(kStatistics, pattern, at_exit);
  } else if (const int fd = kept_stderr(); fd >= 0) {
    room.write_to(fd);
    settle(kStatistics, pattern, at_exit);
  }
}

// Where the option says; nullptr: the process was started without it.
const char* pattern_of(Demand what) {
  switch (what) {
    case Demand::kStatistics:
      return options().stats_path;
    case Demand::kProfile:
      return options().profile_path;
    case Demand::kSizes:
      return options().sizes_path;
  }
  return nullptr;
}

const Content& content_of(Demand what) {
  return what == Demand::kStatistics ? kStatistics : what == Demand::kProfile ? kProfile : kSizes;
}

bool recorded(Demand what) {
  return what == Demand::kStatistics ||
         (what == Demand::kProfile ? profiling() : recording_sizes());
}

bool report_to_stderr(Writer& out) {
  const int fd = kept_stderr();
  if (fd < 0) {
    out.print("its stderr is closed; name a file");
    return false;
  }
  room.write_to(fd);
  out.print("statistics are on its stderr");
  return true;
}

bool report_to_file(const Content& content, const char* pattern, Writer& out) {
  ReportFile& file = room.file;
  const bool is_named = file.name(pattern, reports);
  if (is_named && &content == &kStatistics) {
    take_snapshot(room.snapshot);
    measure_resident(room.snapshot);
  }
  const bool written = is_named && file.try_write(content.print);
  const char* const why = is_named ? file.why(errno) : error_text(ENAMETOOLONG);
  if (written) {
    out.print("%s are in ", content.told);
  } else {
    out.print("cannot write %s to ", content.what);
  }
  out.put(file.path, strlen(file.path));
  if (!written) out.print(": %s", why);
  return written;
}

void report_leaks() {
  const int fd = kept_stderr();
  if (fd < 0) return;
  Writer out(fd, room.file.buffer, sizeof room.file.buffer);
  write_leaks(out);
  out.finish();
}

void report(bool at_exit) {
  const Lock lock(writing);
  if (ended) return;
  ended = at_exit;
  ++reports;
  if (options().stats_path != nullptr) report_statistics(at_exit);
  if (recording_sizes()) report_content(kSizes, options().sizes_path, at_exit);
  if (!profiling()) return;
  if (options().profile_path != nullptr) {
    report_content(kProfile, options().profile_path, at_exit);
  }
  if (at_exit && options().profile_leaks) report_leaks();
}

void load() {
  const char* path = options().stats_path;
  if (path != nullptr) record_report(recording::Content::kStatistics, path, 1);
  if (recording_here() != nullptr) at_quick_exit(note_moment);
  const bool to_stderr =
      (path != nullptr && *path == '\0') || options().profile_leaks || tells_files();
  if (to_stderr) keep_stderr();
}

void at_exit() {
  if (options().stats_path == nullptr && !profiling() && !recording_sizes()) return;
  const KeepErrno keep;
  report(true);
}

// The thread that was writing is gone.
void forked() {
  writing.forget_holder();
  reports = 0;
  ended = false;
}

}  // namespace

constinit const Part report_part{.load = load, .exit = at_exit, .forked = forked};

void report_meanwhile() { report(false); }

bool report_on_demand(Demand what, const char* named, Writer& out) {
  const Content& content = content_of(what);
  const char* const pattern = named != nullptr ? named : pattern_of(what);
  if (!recorded(what)) {
    out.print("it was started without PKTMALLOC_%s", content.option);
    return false;
  }
  if (pattern == nullptr) {
    out.print("it was started without PKTMALLOC_%s; name a file", content.option);
    return false;
  }
  const Lock lock(writing);
  if (ended) {
    out.print("it is ending");
    return false;
  }
  ++reports;
  const bool written =
      *pattern == '\0' ? report_to_stderr(out) : report_to_file(content, pattern, out);
  if (named == nullptr) settle(content, pattern, false);
  return written;
}

void report_now() {
  const Mapped<Room> own;
  if (own) {
    own->write_to(STDERR_FILENO);
  } else {
    message("no memory to tell the statistics");
  }
}

}  // namespace pktmalloc

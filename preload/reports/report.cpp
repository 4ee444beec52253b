// SPDX-License-Identifier: MIT
#include "preload/reports/report.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/other_stack.h"
#include "preload/base/report_file.h"
#include "preload/base/undisturbed.h"
#include "preload/formats/format.h"
#include "preload/process/process.h"
#include "preload/recording/observer.h"
#include "preload/recording/profile.h"
#include "sizeclass/base/mutex.h"

namespace pktmalloc {
namespace {

// What a report needs but a small thread's stack cannot hold.
struct Room {
  Snapshot snapshot;
  ReportFile file;

  // In the format that the path's ending names.
  void write_statistics(Writer& out) {
    take_snapshot(snapshot);
    measure_resident(snapshot);
    if (file.ends_with(".json")) {
      write_json(out, this_process(), snapshot);
    } else if (file.ends_with(".prom")) {
      write_prometheus(out, snapshot);
    } else {
      write_text(out, this_process(), snapshot);
    }
  }

  // False: there is no such descriptor.
  bool write_text_to(int fd) {
    if (fd < 0) return false;
    *file.path = '\0';
    Writer out(fd, file.buffer, sizeof file.buffer);
    write_statistics(out);
    out.finish();
    return true;
  }
};

// Held while a report is written; guards what follows.
constinit Mutex writing{part_rank(PartId::report)};
constinit Room room{};
unsigned reports = 0;
bool ended = false;                      // the report at exit was the last
const char* told[recording::kContents];  // why none is written, of a series once

// By recording::Content. `what` is for the line that says that it cannot be written, `told` and
// `reader` for the line that says where it is.
struct Content {
  const char *option, *what, *told, *reader;
  const char* read_ending;  // of the files that the reader reads; "": any
  const char* Options::*path;
  bool (*is_recorded)();
  void (*print)(Writer& out);

  const char* pattern() const { return options().*path; }  // nullptr: the option is not given
};
constexpr Content kContents[] = {
    {"STATS", "statistics", "statistics", "report", ".json", &Options::stats_path,
     [] { return true; }, [](Writer& out) { room.write_statistics(out); }},
    {"SIZES", "sizes", "sizes", "tune", "", &Options::sizes_path, recording_sizes, write_sizes},
    {"PROFILE", "the heap profile", "samples", "profile", "", &Options::profile_path, profiling,
     write_profile},
};

// nullptr, or why it cannot be written.
const char* write_file(const Content& content, const char* pattern) {
  if (!room.file.name(pattern, reports)) return error_text(ENAMETOOLONG);
  return room.file.write(content.print) ? nullptr : room.file.why(errno);
}

void report_content(recording::Content which, bool at_exit) {
  const Content& content = kContents[static_cast<unsigned>(which)];
  const char* const pattern = content.pattern();
  if (pattern == nullptr || !content.is_recorded()) return;
  if (*pattern == '\0') {
    if (!room.write_text_to(kept_stderr())) return;
  } else {
    const char* const why = write_file(content, pattern);
    const char* const before = std::exchange(told[static_cast<unsigned>(which)], why);
    if (why == nullptr && at_exit) {
      const bool is_read = room.file.ends_with(content.read_ending);
      tell_file(content.told, room.file.path, is_read ? content.reader : nullptr);
    } else if (why != nullptr && (at_exit ? !recording_is_awaited() : why != before)) {
      message("cannot write %s to %s: %s", content.what, room.file.path, why);
    }
    if (why != nullptr && at_exit) return;
  }
  if (at_exit) {
    settle_report(which);
  } else {
    record_report(which, pattern, reports + 1);
  }
}

void report_leaks() {
  const int fd = kept_stderr();
  if (fd < 0) return;
  Writer out(fd, room.file.buffer, sizeof room.file.buffer);
  run_on_other_stack(
      [](void* to, bool has_room) { write_leaks(*static_cast<Writer*>(to), has_room); }, &out);
  out.finish();
}

void report(bool at_exit) {
  const Lock lock(writing);
  if (ended) return;
  ended = at_exit;
  ++reports;
  report_content(recording::Content::kStatistics, at_exit);
  report_content(recording::Content::kSizes, at_exit);
  report_content(recording::Content::kProfile, at_exit);
  if (at_exit && profiling() && options().profile_leaks) report_leaks();
}

EVERY_PROCESS void load() {
  const char* path = options().stats_path;
  if (path != nullptr) record_report(recording::Content::kStatistics, path, 1);
  if (recording_here() != nullptr) at_quick_exit(note_moment);
  const bool to_stderr =
      (path != nullptr && *path == '\0') || options().profile_leaks || tells_files();
  if (to_stderr) keep_stderr();
  if (options().profile_leaks) make_other_stack();
}

EVERY_PROCESS void at_exit() {
  if (options().stats_path == nullptr && !profiling() && !recording_sizes()) return;
  const Undisturbed undisturbed;
  // In a signal handler: what the thread holds it would wait for.
  if (Mutex::any_held()) return message("no report: exit() was called amid malloc or free");
  report(true);
}

// The thread that was writing is gone.
EVERY_PROCESS void forked() {
  writing.forget_holder();
  if (reports == 0 && !ended) return;
  reports = 0;
  ended = false;
  std::ranges::fill(told, nullptr);
}

}  // namespace

constinit const Part report_part{.load = load, .exit = at_exit, .forked = forked};

void report_meanwhile() { report(false); }

bool report_on_demand(recording::Content which, const char* named, Writer& out) {
  const Content& content = kContents[static_cast<unsigned>(which)];
  const char* const pattern = named != nullptr ? named : content.pattern();
  if (!content.is_recorded() || pattern == nullptr) {
    out.print("it was started without PKTMALLOC_%s%s", content.option,
              content.is_recorded() ? "; name a file" : "");
    return false;
  }
  const Lock lock(writing);
  if (ended) return out.print("it is ending"), false;
  ++reports;
  const char* why = nullptr;
  if (*pattern != '\0') {
    why = write_file(content, pattern);
    out.print(why == nullptr ? "%s are in " : "cannot write %s to ",
              why == nullptr ? content.told : content.what);
    out.put(room.file.path, strlen(room.file.path));
    if (why != nullptr) out.print(": %s", why);
  } else {
    if (!room.write_text_to(kept_stderr())) why = "its stderr is closed; name a file";
    out.print("%s", why != nullptr ? why : "statistics are on its stderr");
  }
  if (named == nullptr) record_report(which, pattern, reports + 1);
  return why == nullptr;
}

void report_now() {
  const Mapped<Room> own;
  if (!own) return message("no memory to tell the statistics");
  own->write_text_to(STDERR_FILENO);
}

}  // namespace pktmalloc

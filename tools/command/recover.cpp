// SPDX-License-Identifier: MIT
// pktmalloc recover FILE...: writes what a killed process could not, from its recording.
#include <unistd.h>

#include <filesystem>

#include "tools/command/failure.h"
#include "tools/command/recovery/keeper.h"
#include "tools/command/recovery/recovery.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/standard_error.h"

namespace pktmalloc {
namespace {

bool recover_file(const std::string& path) {
  const RecordingFile recording(path);
  if (recording.in_use()) {
    throw Failure("process {} ({}) still runs and writes {}", recording.header().pid,
                  recording.program(), path);
  }
  if (!recover(recording)) throw Failure("{} is kept, for another try", path);
  unlink(path.c_str());
  return true;
}

// One that cannot be recovered is told and keeps none of the others back. False: there was one, as
// in `recover`, for a folder.
template <typename Recover>
bool recover_each(const std::vector<std::string>& paths, const Recover& recover) {
  bool all = true;
  for (const std::string& path : paths) {
    try {
      all &= recover(path);
    } catch (const Failure& failure) {
      tell(failure.what());
      all = false;
    }
  }
  return all;
}

bool recover_folder(const std::string& path) {
  const std::vector<std::string> recordings = recordings_in(path);
  if (recordings.empty()) throw Failure("there is no recording in {}", path);
  const bool all = recover_each(recordings, recover_file);
  if (all) rmdir(path.c_str());
  return all;
}

void recover_all(const std::vector<std::string>& paths) {
  const bool all = recover_each(paths, [](const std::string& path) {
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(path, ignored);
    return is_folder ? recover_folder(path) : recover_file(path);
  });
  if (!all) throw ExitStatus{2};
}

}  // namespace

void add_recover(CommandLine& command) {
  const Subcommand recover = command.add_subcommand(
      "recover", "Writes the reports of a killed program from its recording.");
  static std::vector<std::string> paths;
  recover.add_option("FILE", paths, "recordings, or folders of them").required();
  recover.footer(
      "pktmalloc run does this by itself, unless it is killed too. Example:\n"
      "  pktmalloc recover app.heap.recording-*");
  recover.callback([] { recover_all(paths); });
}

}  // namespace pktmalloc

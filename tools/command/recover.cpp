// SPDX-License-Identifier: MIT
// pktmalloc recover FILE...: writes what a killed process could not, from its recording.
#include <unistd.h>

#include <filesystem>

#include "tools/command/failure.h"
#include "tools/command/recovery/keeper.h"
#include "tools/command/recovery/recovery.h"
#include "tools/command/subcommands.h"

namespace pktmalloc {
namespace {

void recover_file(const std::string& path) {
  const RecordingFile recording(path);
  if (recording.in_use()) {
    throw Failure("process {} ({}) still runs and writes {}", recording.header().pid,
                  recording.program(), path);
  }
  if (!recover(recording)) throw Failure("{} is kept, for another try", path);
  unlink(path.c_str());
}

void recover_files(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      recover_file(path);
      continue;
    }
    for (const std::string& file : recordings_in(path)) recover_file(file);
    rmdir(path.c_str());
  }
}

}  // namespace

void add_recover(CLI::App& command) {
  CLI::App* const recover = command.add_subcommand(
      "recover", "Writes the reports of a killed program from its recording.");
  static std::vector<std::string> paths;
  recover->add_option("FILE", paths, "recordings, or folders of them")->required();
  recover->footer(
      "pktmalloc run does this by itself, unless it is killed too. Example:\n"
      "  pktmalloc recover app.heap.recording-*");
  recover->callback([] { recover_files(paths); });
}

}  // namespace pktmalloc

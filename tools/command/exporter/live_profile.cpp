// SPDX-License-Identifier: MIT
#include "tools/command/exporter/live_profile.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/command/exporter/confined.h"
#include "tools/command/failure.h"
#include "tools/command/profile/pprof.h"
#include "tools/command/profile/profile_table.h"
#include "tools/command/profile/symbolizer.h"
#include "tools/command/system/control_socket.h"
#include "tools/command/system/standard_output.h"
#include "tools/command/system/temporary_place.h"

namespace pktmalloc {
namespace {

class Folder {
 public:
  explicit Folder(const std::string& place) : path_(place + "/pktmalloc-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr)
      throw Failure("no folder in {}: {}", place, strerror(errno));
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// True: the process sees other files than we did.
bool become_user_of(const Process& process) {
  const Process::User user = process.user();
  if (geteuid() != 0) return false;
  const bool elsewhere = !process.shares("mnt");
  if (elsewhere) {
    const int files = open(process.file("ns/mnt").c_str(), O_RDONLY | O_CLOEXEC);
    if (files < 0 || setns(files, CLONE_NEWNS) != 0) {
      throw Failure("the files of process {} cannot be reached: {}", process.pid(),
                    strerror(errno));
    }
  }
  take_rights_of(user);
  return elsewhere;
}

// Nothing of it stays, whatever becomes of what is made from it.
HeapProfile ask_for_profile(const ControlSocket& socket, const std::string& place) {
  const Folder folder(place);
  const std::string file = folder / "heap";
  socket.ask("profile " + file);
  return read_heap_profile(file);
}

}  // namespace

void print_live_profile(pid_t pid) {
  const Process process(pid);
  const ControlSocket socket(process);
  const bool elsewhere = become_user_of(process);
  HeapProfile profile = ask_for_profile(socket, elsewhere ? "/tmp" : temporary_place());
  profile.forget_threads();
  Symbolizer symbolizer(false, true);
  const std::string text =
      pprof_profile(named_stacks(profile, symbolizer), profile, Counted::kLive);
  fwrite(text.data(), 1, text.size(), stdout);
  flush_standard_output();
}

}  // namespace pktmalloc

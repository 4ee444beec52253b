// SPDX-License-Identifier: MIT
#include "tools/command/exporter/live_profile.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <filesystem>
#include <thread>

#include "tools/command/failure.h"
#include "tools/command/profile/pprof.h"
#include "tools/command/profile/profile_table.h"
#include "tools/command/profile/symbolizer.h"
#include "tools/command/system/control_socket.h"
#include "tools/command/system/temporary_place.h"

namespace pktmalloc {
namespace {

// A folder that only the process's user may enter, until the end of the scope.
class Folder {
 public:
  explicit Folder(const Process& process) : path_(temporary_place() + "/pktmalloc-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) {
      throw Failure("no folder in {}: {}", temporary_place(), strerror(errno));
    }
    struct stat owner {};
    if (stat(process.file("status").c_str(), &owner) == 0 && owner.st_uid != geteuid() &&
        chown(path_.c_str(), owner.st_uid, owner.st_gid) != 0) {
      const int error = errno;
      rmdir(path_.c_str());
      throw Failure("no folder for the user of process {}: {}", process.pid(), strerror(error));
    }
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string order_profile(pid_t pid) {
  const Process process(pid);
  const ControlSocket socket(process);
  const Folder folder(process);
  const std::string file = folder.path() + "/heap";
  socket.ask("profile " + file);
  // In another container the same path is elsewhere.
  const std::string seen = process.file("root") + file;
  const bool here = std::filesystem::exists(file);
  const HeapProfile profile = read_heap_profile(here ? file : seen);
  if (!here) unlink(seen.c_str());
  Symbolizer symbolizer(false, true);
  return pprof_profile(named_stacks(profile, symbolizer), profile, Counted::kLive);
}

}  // namespace

std::string live_profile(pid_t pid) {
  std::string text;
  std::exception_ptr failure;
  // On a thread of its own, since the socket may lie in another network, which a thread enters for
  // good.
  std::thread([&] {
    try {
      text = order_profile(pid);
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  return text;
}

}  // namespace pktmalloc

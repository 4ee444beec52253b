// SPDX-License-Identifier: MIT
#include "tools/command/exporter/live_profile.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/command/failure.h"
#include "tools/command/profile/pprof.h"
#include "tools/command/profile/profile_table.h"
#include "tools/command/profile/symbolizer.h"
#include "tools/command/system/control_socket.h"
#include "tools/command/system/standard_output.h"
#include "tools/command/system/temporary_place.h"

namespace pktmalloc {
namespace {

constexpr unsigned kPatienceSeconds = 20;
constexpr rlim_t kMostMemory = rlim_t{1} << 30;
constexpr size_t kMostBytes = size_t{64} << 20;  // of an answer

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
  const bool elsewhere = process.name_space("mnt") != Process(getpid()).name_space("mnt");
  if (elsewhere) {
    const int files = open(process.file("ns/mnt").c_str(), O_RDONLY | O_CLOEXEC);
    if (files < 0 || setns(files, CLONE_NEWNS) != 0) {
      throw Failure("the files of process {} cannot be reached: {}", process.pid(),
                    strerror(errno));
    }
  }
  if (setgroups(0, nullptr) != 0 || setresgid(user.gid, user.gid, user.gid) != 0 ||
      setresuid(user.uid, user.uid, user.uid) != 0) {
    throw Failure("cannot become the user of process {}: {}", process.pid(), strerror(errno));
  }
  return elsewhere;
}

[[noreturn]] void become_profiler(const char* pid, int out) {
  alarm(kPatienceSeconds);
  const rlimit memory{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_DATA, &memory);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execl("/proc/self/exe", "pktmalloc", "exporter", "--profile-of", pid, nullptr);
  _exit(127);
}

}  // namespace

void print_live_profile(pid_t pid) {
  const Process process(pid);
  const ControlSocket socket(process);
  const bool elsewhere = become_user_of(process);
  const Folder folder(elsewhere ? "/tmp" : temporary_place());
  const std::string file = folder / "heap";
  socket.ask("profile " + file);
  const HeapProfile profile = read_heap_profile(file);
  Symbolizer symbolizer(false, true);
  const std::string text =
      pprof_profile(named_stacks(profile, symbolizer), profile, Counted::kLive);
  fwrite(text.data(), 1, text.size(), stdout);
  flush_standard_output();
}

ProfileAnswer ask_for_profile(pid_t pid) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {false, strerror(errno)};
  const std::string id = std::to_string(pid);
  const pid_t child = fork();
  if (child == 0) become_profiler(id.c_str(), ends[1]);
  close(ends[1]);
  ProfileAnswer answer;
  char buffer[65536];
  for (ssize_t got; child > 0 && (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    answer.text.append(buffer, static_cast<size_t>(got));
    if (answer.text.size() > kMostBytes) kill(child, SIGKILL);
  }
  close(ends[0]);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return {false, "cannot start a process"};
  answer.done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!answer.done && !WIFEXITED(status)) {
    answer.text = fmt::format("process {} has told no profile in {} seconds, or too large a one",
                              pid, kPatienceSeconds);
  }
  return answer;
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/recovery/keeper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <fmt/ranges.h>

#include "tools/command/failure.h"
#include "tools/command/live/live.h"
#include "tools/command/recovery/recovery.h"
#include "tools/command/system/process.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/system/temporary_place.h"
#include "tools/command/text/path_pattern.h"

namespace pktmalloc {

using namespace recording;

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr nanoseconds kFirstInterval = std::chrono::milliseconds(1);
constexpr nanoseconds kLongestInterval = std::chrono::milliseconds(100);
constexpr int kShare = 50;  // of the time, reading takes at most the kShare-th part

// Of a processor: others that are busy do not make a reading long.
nanoseconds own_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);  // real-time signals have none
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

class Keeper {
 public:
  Keeper(pid_t child, std::string folder, const Keeping& keeping, const sigset_t& signals)
      : child_(child), folder_(std::move(folder)), keeping_(keeping), signals_(signals) {}

  // The child's wait status.
  int wait() {
    for (;;) {
      siginfo_t info{};
      const timespec rest{0, interval_.count()};
      const int signal = keeping_.reads_statistics ? sigtimedwait(&signals_, &info, &rest)
                                                   : sigwaitinfo(&signals_, &info);
      if (signal == SIGCHLD) {
        if (int status = 0; child_ended(status)) return status;
      } else if (signal > 0) {
        hand_on(signal, info);
      } else if (errno == EAGAIN) {
        const std::optional<Reading> latest = read_statistics();
        // Not before a signal is handed on: it may take a second.
        if (latest && keeping_.at_reading) keeping_.at_reading(*latest);
      }
    }
  }

  void recover_all(int status) {
    for (const std::string& path : recordings_in(folder_)) {
      if (path != path_of(child_)) recover_other(path);
    }
    if (const auto own = open(child_)) {
      recover_own(*own, status);
    } else if (WIFSIGNALED(status)) {
      tell(fmt::format("process {} ended by {} and left no recording: its reports are lost", child_,
                       signal_name(WTERMSIG(status))));
      // It ended while it began one; others stay.
      if (std::ifstream(path_of(child_), std::ios::binary).get() == 0) {
        unlink(path_of(child_).c_str());
      }
    }
    rmdir(folder_.c_str());  // unless something is left
    if (keeping_.at_end) keeping_.at_end(child_, std::move(readings_));
  }

 private:
  static constexpr Content kAll[] = {Content::kStatistics, Content::kSizes, Content::kProfile,
                                     Content::kTrace};

  std::string path_of(pid_t pid) const { return folder_ + "/" + std::to_string(pid); }

  // nullptr: there is none.
  std::unique_ptr<RecordingFile> open(pid_t pid) const {
    try {
      return std::make_unique<RecordingFile>(path_of(pid));
    } catch (const Failure&) {
      return nullptr;
    }
  }

  // A program that the process became, under another user for instance, may not be able to replace
  // the recording of the one before. Of a process that has ended only this can still be seen.
  void look_for_another_program() {
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT);
    const auto recording = ended.si_pid == child_ ? open(child_) : nullptr;
    if (!recording) return;
    try {
      const Process process(child_);
      is_another_ = process.name() != recording->comm();
      const bool changed_user = process.user().uid != geteuid();  // the recording is ours
      if (is_another_ && changed_user) unlink(recording->path().c_str());
    } catch (const Failure&) {  // /proc tells nothing of it
    }
  }

  bool child_ended(int& status) {
    look_for_another_program();
    // Of a container, this may be the first process: others come to it when their parents end.
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
      if (pid != child_) continue;
      if (!WIFSTOPPED(status)) return true;
      stop_with_child(WSTOPSIG(status));
    }
    return false;
  }

  // A shell sees that its job has stopped. Who continues the program alone continues us, too: a
  // process of our own waits for that, since a stopped one sees nothing.
  void stop_with_child(int signal) const {
    const pid_t keeper = getpid();
    const pid_t waker = fork();
    if (waker == 0) wake(keeper);
    if (waker < 0) return;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    raise(signal);  // together with one that a terminal sent, so that we stop once
    sigprocmask(SIG_UNBLOCK, &one, nullptr);
    sigprocmask(SIG_BLOCK, &one, nullptr);
    kill(waker, SIGKILL);
    waitpid(waker, nullptr, 0);
    // What has continued both is not to be handed on.
    sigemptyset(&one);
    sigaddset(&one, SIGCONT);
    const timespec at_once{};
    if (!is_stopped(child_)) sigtimedwait(&one, nullptr, &at_once);
  }

  [[noreturn]] void wake(pid_t keeper) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const timespec rest{0, std::chrono::nanoseconds(kLongestInterval).count()};
    while (getppid() == keeper) {
      if (is_stopped(keeper) && !is_stopped(child_)) kill(keeper, SIGCONT);
      nanosleep(&rest, nullptr);
    }
    _exit(0);
  }

  static bool is_sent_by_terminals(int signal) {
    constexpr int kSignals[] = {SIGINT,  SIGQUIT, SIGTSTP, SIGTTIN,
                                SIGTTOU, SIGHUP,  SIGCONT, SIGWINCH};
    return std::find(std::begin(kSignals), std::end(kSignals), signal) != std::end(kSignals);
  }

  static bool is_stopped(pid_t pid) {
    try {
      return Process(pid).is_stopped();
    } catch (const Failure&) {
      return false;  // it has ended
    }
  }

  void hand_on(int signal, const siginfo_t& info) {
    // The terminal sends to both, and what the program sends to its group comes here as well. Other
    // signals of the kernel are for one: an alarm that was set before the command began; and a
    // terminal that is closed tells the first process of the session alone.
    const bool is_closed = signal == SIGHUP && getsid(0) == getpid();
    const bool is_of_terminal =
        info.si_code == SI_KERNEL && is_sent_by_terminals(signal) && !is_closed;
    const bool is_for_us = is_of_terminal || info.si_pid == child_;
    if (is_for_us && signal != SIGCONT) return;
    if (info.si_pid == getpid()) return;  // SIGPIPE: nobody reads what we tell
    if (keeping_.reads_statistics) read_statistics();
    if (info.si_code == SI_QUEUE) {
      sigqueue(child_, signal, info.si_value);
    } else {
      kill(child_, signal);
    }
  }

  std::optional<Reading> read_statistics() {
    std::optional<Reading> latest;
    const nanoseconds begin = own_time();
    nanoseconds walk{0};
    try {
      if (!live_) live_ = std::make_unique<LiveProcess>(child_);
      Reading reading = live_->read();
      if (Clock::now() >= next_walk_) walk = count_pages();
      reading.snapshot.process.resident_bytes = resident_bytes_;
      note(reading);
      if (keeping_.at_end) {
        reading.page_faults = live_->page_faults();
        remember(reading);
      }
      latest = std::move(reading);
    } catch (const Failure&) {
      live_.reset();  // not yet, no longer, or another program
      next_walk_ = {};
      recording_.reset();
    }
    const nanoseconds least = (own_time() - begin - walk) * kShare;
    interval_ = std::max(std::min(interval_ * 3 / 2, kLongestInterval), least);
    interval_ = std::min<nanoseconds>(interval_, std::chrono::milliseconds(999));
    return latest;
  }

  // Of a large process this takes long, and is done less often than the rest. Returns how long.
  nanoseconds count_pages() {
    const nanoseconds begin = own_time();
    resident_bytes_ = live_->resident_bytes();
    const nanoseconds walk = own_time() - begin;
    next_walk_ = Clock::now() + walk * kShare;
    return walk;
  }

  void note(const Reading& reading) {
    if (!recording_ || !recording_->is_current()) {
      recording_ = open(child_);
      if (recording_ && !recording_->in_use()) recording_.reset();  // of the program before
    }
    if (!recording_) return;
    Header& header = recording_->header();
    header.outside.next() = {static_cast<uint64_t>(reading.time * 1e3), reading.snapshot};
    header.outside.advance();
  }

  // Every second one goes when they are too many, and from then on twice the time lies between.
  void remember(const Reading& reading) {
    constexpr size_t kMost = 512;
    if (!readings_.empty() && reading.time < readings_.back().time + apart_) return;
    readings_.push_back(reading);
    if (readings_.size() < kMost) return;
    for (size_t i = 0; i < kMost / 2; ++i) readings_[i] = std::move(readings_[2 * i]);
    readings_.resize(kMost / 2);
    apart_ = std::max(2 * apart_, (reading.time - readings_[0].time) / (kMost / 2));
  }

  void recover_own(const RecordingFile& recording, int status) const {
    const bool any = std::any_of(std::begin(kAll), std::end(kAll), [&](Content content) {
      return recording.wanted(content) &&
             !is_within(recording.report_path(content), keeping_.untold);
    });
    if (any && WIFSIGNALED(status)) {
      tell(fmt::format("{}, process {}, ended by {}; what it recorded until then:",
                       recording.program(), child_, signal_name(WTERMSIG(status))));
    }
    if (recover(recording, keeping_.untold, is_another_)) {
      unlink(recording.path().c_str());
    } else {
      tell_kept(recording, "what is missing");
    }
  }

  void recover_other(const std::string& path) const {
    try {
      const RecordingFile recording(path);
      if (recording.in_use()) return tell_kept(recording, "it runs on; if it is killed, that");
      if (!recover(recording, keeping_.untold)) return tell_kept(recording, "what is missing");
    } catch (const Failure& failure) {
      return tell(failure.what());
    }
    unlink(path.c_str());
  }

  static void tell_kept(const RecordingFile& recording, const char* what) {
    tell(fmt::format("{}, process {}: {} is written by: pktmalloc recover {}", recording.program(),
                     recording.header().pid, what, recording.path()));
  }

  pid_t child_;
  std::string folder_;
  const Keeping& keeping_;
  sigset_t signals_;
  nanoseconds interval_ = kFirstInterval;
  uint64_t resident_bytes_ = 0;
  Clock::time_point next_walk_{};
  std::unique_ptr<LiveProcess> live_;
  std::unique_ptr<RecordingFile> recording_;
  std::vector<Reading> readings_;
  double apart_ = 0;         // seconds
  bool is_another_ = false;  // than the one that the recording began with, by its name
};

[[noreturn]] void end_like(int status) {
  fflush(nullptr);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    prctl(PR_SET_DUMPABLE, 0);  // the core is the program's
    ::signal(signal, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &one, nullptr);
    _exit(128 + signal);  // the first process of a container survives
  }
  _exit(WEXITSTATUS(status));
}

std::string new_folder(const std::vector<std::string>& files) {
  std::string file = files.empty() ? "%" : files[0];
  if (const size_t at = file.find("%c"); at != std::string::npos) file.erase(at, 2);
  const bool known = file.find('%') == std::string::npos && !names_no_file(file);
  const fs::path first = known ? file : "pktmalloc";
  constexpr size_t kMost = 200;  // the longest names leave no room for ours
  const std::string folder = first.parent_path();
  const std::string name = first.filename().string().substr(0, kMost);
  for (const std::string& place : {folder, temporary_place()}) {
    std::string path = place + "/" + name + ".recording-XXXXXX";
    if (!place.empty() && mkdtemp(path.data()) != nullptr) return path;
  }
  throw Failure("run: cannot make a folder for the recording in {} (TMPDIR): {}", temporary_place(),
                strerror(errno));
}

// The reports that other processes than the child have written since `begin`.
void tell_others(const Keeping& keeping, pid_t child, fs::file_time_type begin) {
  constexpr size_t kMost = 10;
  std::vector<std::string> others;
  for (const std::string& file : keeping.files) {
    if (is_within(file, keeping.untold)) continue;
    const std::vector<std::string> own = paths_of(file, child);
    for (const std::string& path : paths_of(file, 0)) {
      std::error_code ignored;
      const bool is_old = fs::last_write_time(path, ignored) < begin;
      if (!is_old && std::find(own.begin(), own.end(), path) == own.end()) others.push_back(path);
    }
  }
  if (others.empty()) return;
  const size_t more = others.size() - std::min(others.size(), kMost);
  others.resize(others.size() - more);
  tell(fmt::format("programs that it started wrote {}{}", fmt::join(others, ", "),
                   more > 0 ? fmt::format(" and {} more", more) : ""));
}

}  // namespace

void keep(const Keeping& keeping) {
  std::string recordings;
  if (keeping.records) {
    recordings = new_folder(keeping.files);
    setenv("PKTMALLOC_RECORDING", (as_pattern(recordings) + "/%p").c_str(), 1);
  }
  const auto begin = fs::last_write_time(keeping.records ? recordings : "/proc/self");
  const pid_t parent = getpid();
  // The system heeds this for all but those that nobody can hold, and faults of our own.
  sigset_t signals, before;
  sigfillset(&signals);
  sigprocmask(SIG_BLOCK, &signals, &before);
  const auto children = signal(SIGCHLD, SIG_DFL);  // ignored, they could not be waited for
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    if (keeping.records) rmdir(recordings.c_str());
    throw Failure("run: cannot start a process: {}", strerror(error));
  }
  if (child > 0) {
    // What is told may have no reader, and the reports want to be written.
    signal(SIGPIPE, SIG_IGN);
    Keeper keeper(child, recordings, keeping, signals);
    if (keeping.at_start) keeping.at_start();
    const int status = keeper.wait();
    if (keeping.at_exit) keeping.at_exit(child, status);
    if (keeping.records) {
      keeper.recover_all(status);
      tell_others(keeping, child, begin);
    }
    end_like(status);
  }
  // Killing the keeper kills the program, as if it were the program.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(128 + SIGKILL);
  if (const char* told = getenv("PKTMALLOC_TELL"); told != nullptr && atoi(told) == parent) {
    setenv("PKTMALLOC_TELL", std::to_string(getpid()).c_str(), 1);
  }
  signal(SIGCHLD, children);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

std::vector<std::string> recordings_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace pktmalloc

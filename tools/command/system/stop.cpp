// SPDX-License-Identifier: MIT
#include "tools/command/system/stop.h"

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "tools/command/failure.h"
#include "tools/command/system/call_registers.h"
#include "tools/command/system/process.h"
#include "tools/command/system/remote_call.h"

namespace pktmalloc {
namespace {

using Clock = std::chrono::steady_clock;
// A thread that waits for a disk, or for the child of a vfork, cannot stop before that is done; one
// that waits for a processor will.
constexpr std::chrono::milliseconds kPatience{3}, kLongPatience{1000};
constexpr double kBusyMost = 5000;  // milliseconds

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// After it could not be traced; else it has ended.
bool has_debugger(pid_t thread) {
  try {
    return errno == EPERM && Process(thread).is_traced();
  } catch (const Failure&) {
    return false;
  }
}

struct Thread {
  pid_t id;
  int signal = 0;  // that it is to have when it goes on
  bool stands = false;
};

// In the child.
class Tracer {
 public:
  explicit Tracer(pid_t pid) : pid_(pid), was_stopped_(Process(pid).is_stopped()) {}

  // New threads may have been made by those that ran on: until there are none.
  void stop_all() {
    while (seize_new()) {
    }
    for (Thread& thread : threads_) {
      while (!look(thread)) {
        const auto passed = Clock::now() - start_;
        if (passed > kLongPatience || (passed > kPatience && is_busy_or_over(thread))) break;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      if (thread.stands) standing_.push_back(thread.id);
    }
    if (!standing_.empty()) return;
    if (std::all_of(threads_.begin(), threads_.end(),
                    [](const Thread& one) { return is_over(state_of(one.id)); })) {
      throw Failure("process {} has ended", pid_);
    }
    throw CannotStop("process {} cannot be stopped now: it waits for a disk or a child of vfork",
                     pid_);
  }

  const std::vector<pid_t>& threads() const { return standing_; }
  unsigned not_stopped() const {
    return static_cast<unsigned>(threads_.size() - gone_ - standing_.size());
  }

  // In a process that is stopped anyway nobody waits for it to go on.
  pid_t copy_memory() {
    if (was_stopped_) return 0;
    call_ = RemoteCall::prepare(pid_, standing_.front());
    if (!call_) return 0;
    const auto thread = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& one) {
      return one.stands && one.signal == 0 && call_->is_possible(one.id);
    });
    if (thread == threads_.end()) return 0;
    child_ = call_->copy_memory(thread->id);
    parent_ = thread->id;
    return child_;
  }

  // Milliseconds since it was to stand still.
  double let_go() {
    if (std::exchange(gone_on_, true)) return milliseconds_;
    for (const Thread& thread : threads_) {
      if (thread.stands) let_go(thread.id, thread.signal);
    }
    return milliseconds_ = since(start_);
  }

  // Nothing is left of us.
  void finish() {
    let_go();
    if (child_ == 0) return;
    const auto killed = Clock::now();
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, __WALL);
    // Another command may be looking at it just now, or have done so when we asked.
    while (ptrace(PTRACE_SEIZE, parent_, nullptr, nullptr) != 0) {
      if (errno != EPERM || is_over(state_of(parent_)) || since(killed) > kBusyMost) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ptrace(PTRACE_INTERRUPT, parent_, nullptr, nullptr);
    const int status = wait_for_stop(parent_);
    if (status < 0) return;
    // It may be another program by now, or filter its calls.
    call_ = RemoteCall::prepare(pid_, parent_);
    // Should that be a bad moment, the process keeps a zombie.
    if (call_ && call_->is_possible(parent_)) call_->forget_child(parent_, child_);
    let_go(parent_, status >> 16 == 0 ? WSTOPSIG(status) : 0);
  }

 private:
  bool seize_new() {
    bool any = false;
    std::error_code ignored;
    const std::filesystem::path tasks = Process(pid_).file("task");
    for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
      const pid_t id = std::stoi(task.path().filename());
      if (!seen_.insert(id).second) continue;
      if (ptrace(PTRACE_SEIZE, id, nullptr, nullptr) != 0) {
        if (has_debugger(id)) {
          throw CannotStop("process {} has a debugger, or another pktmalloc looks at it", pid_);
        }
        continue;  // it has ended
      }
      ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
      threads_.push_back({id});
      any = true;
    }
    return any;
  }

  static std::string state_of(pid_t thread) {
    try {
      return Process(thread).field(Process::kState);
    } catch (const Failure&) {
      return "X";
    }
  }
  static bool is_over(const std::string& state) { return state == "Z" || state == "X"; }

  // Neither does it run nor will it soon.
  static bool is_busy_or_over(const Thread& thread) {
    const std::string state = state_of(thread.id);
    return state == "D" || is_over(state);
  }

  // True: it stands, or is gone.
  bool look(Thread& thread) {
    int status = 0;
    const pid_t found = waitpid(thread.id, &status, __WALL | WNOHANG);
    if (found == 0) return false;
    if (found < 0 || !WIFSTOPPED(status)) {
      ++gone_;
      return true;
    }
    thread.stands = true;
    if (status >> 16 == 0) thread.signal = WSTOPSIG(status);
    return true;
  }

  // Where it stands in a call of ours, the thread would send itself the signal as soon as it runs:
  // SIGSTOP after a SIGCONT that comes now.
  void let_go(pid_t thread, int signal) {
    if (call_ && thread == parent_) {
      std::vector<int> signals = call_->take_signals();
      signals.push_back(std::exchange(signal, 0));
      for (const int one : signals) syscall(SYS_tgkill, pid_, thread, one);  // 0 is none
    }
    ptrace(PTRACE_DETACH, thread, nullptr, signal);
  }

  const pid_t pid_;
  const bool was_stopped_;
  const Clock::time_point start_ = Clock::now();
  std::set<pid_t> seen_;
  std::vector<Thread> threads_;
  std::vector<pid_t> standing_;
  size_t gone_ = 0;
  bool gone_on_ = false;
  double milliseconds_ = 0;
  std::optional<RemoteCall> call_;
  pid_t parent_ = 0, child_ = 0;
};

Registers registers_of(pid_t thread) {
  Registers all;
  for (const int kind : kRegisterSets) {
    uint64_t words[2048];  // AMX has 8 KiB of its own
    iovec to{words, sizeof words};
    if (ptrace(PTRACE_GETREGSET, thread, kind, &to) != 0) continue;
    all.insert(all.end(), words, words + to.iov_len / sizeof *words);
  }
  return all;
}

enum Order : char { kRegisters = 'r', kCopyMemory = 'c', kLetGo = 'g' };
using Words = std::vector<uint64_t>;

bool receive(int fd, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = read(fd, static_cast<char*>(to) + done, bytes - done);
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
    done += static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  return true;
}

// Their number, then the words. Nobody may be there to read them.
void send(int fd, const Words& words) {
  Words all = {words.size()};
  all.insert(all.end(), words.begin(), words.end());
  const auto* at = reinterpret_cast<const char*>(all.data());
  for (size_t left = all.size() * sizeof(uint64_t); left > 0;) {
    const ssize_t put = write(fd, at, left);
    if (put < 0) return;
    at += put;
    left -= static_cast<size_t>(put);
  }
}

Words answer_of(Tracer& tracer, char order) {
  Words words;
  switch (order) {
    case kRegisters:
      for (const pid_t thread : tracer.threads()) {
        const Registers registers = registers_of(thread);
        words.push_back(registers.size());
        words.insert(words.end(), registers.begin(), registers.end());
      }
      break;
    case kCopyMemory:
      words = {static_cast<uint64_t>(tracer.copy_memory())};
      break;
    case kLetGo:
      words = {std::bit_cast<uint64_t>(tracer.let_go())};
      break;
    default:
      break;
  }
  return words;
}

constexpr uint64_t kFails = ~uint64_t{0}, kCannotStop = kFails - 1;

// Until nobody gives orders any more. First it tells which threads stand, or why none does.
void serve(pid_t pid, int channel) {
  try {
    Tracer tracer(pid);
    tracer.stop_all();
    Words first = {tracer.not_stopped()};
    for (const pid_t thread : tracer.threads()) first.push_back(static_cast<uint64_t>(thread));
    send(channel, first);
    for (char order; read(channel, &order, 1) == 1;) send(channel, answer_of(tracer, order));
    tracer.finish();
  } catch (const Failure& failure) {
    const std::string text = failure.what();
    Words words = {dynamic_cast<const CannotStop*>(&failure) != nullptr ? kCannotStop : kFails};
    words.insert(words.end(), text.begin(), text.end());
    send(channel, words);
  }
}

}  // namespace

StandingProcess::StandingProcess(pid_t pid) : pid_(pid) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Failure("there is no socket: {}", strerror(errno));
  }
  child_ = fork();
  if (child_ == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    setsid();
    prctl(PR_SET_NAME, "stands by");
    close(ends[0]);
    serve(pid, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  channel_ = ends[0];
  try {
    const Words first = answer();
    not_stopped_ = static_cast<unsigned>(first[0]);
    threads_.assign(first.begin() + 1, first.end());
  } catch (...) {
    end();
    throw;
  }
}

StandingProcess::~StandingProcess() { end(); }

void StandingProcess::end() {
  close(channel_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

void StandingProcess::ask(char order) const {
  if (::send(channel_, &order, 1, MSG_NOSIGNAL) != 1)
    throw Failure("process {} cannot be stopped", pid_);
}

StandingProcess::Words StandingProcess::answer() const {
  uint64_t count = 0;
  Words words;
  if (child_ > 0 && receive(channel_, &count, sizeof count)) {
    words.resize(count);
    if (!receive(channel_, words.data(), count * sizeof(uint64_t))) words.clear();
  }
  if (words.empty()) throw Failure("process {} cannot be stopped", pid_);
  if (words[0] < kCannotStop) return words;
  const std::string text(words.begin() + 1, words.end());
  if (words[0] == kCannotStop) throw CannotStop("{}", text);
  throw Failure("{}", text);
}

std::vector<Registers> StandingProcess::registers() {
  ask(kRegisters);
  const Words words = answer();
  std::vector<Registers> all;
  for (size_t at = 0; at < words.size(); at += words[at] + 1) {
    const auto begin = words.begin() + static_cast<ptrdiff_t>(at) + 1;
    all.emplace_back(begin, begin + static_cast<ptrdiff_t>(words[at]));
  }
  return all;
}

pid_t StandingProcess::copy_memory() {
  ask(kCopyMemory);
  return static_cast<pid_t>(answer()[0]);
}

double StandingProcess::let_go() {
  ask(kLetGo);
  return std::bit_cast<double>(answer()[0]);
}

}  // namespace pktmalloc

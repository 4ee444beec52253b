// SPDX-License-Identifier: MIT
#include "tools/command/compare/execution.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "tools/command/compare/child.h"
#include "tools/command/system/interruption.h"
#include "tools/command/system/read_all.h"

namespace pktmalloc {
namespace {

double milliseconds(timeval time) {
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
}

// What a command writes, read as it comes.
class Output {
 public:
  Output(int descriptor, bool show) : descriptor_(descriptor), show_(show) {
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
  }
  // What is there; false at the end.
  bool read_some() {
    for (;;) {
      const ssize_t got = read(descriptor_, buffer_, sizeof buffer_);
      if (got < 0) return errno == EAGAIN || errno == EINTR;
      if (got == 0) return false;
      for (ssize_t i = 0; i < got; ++i) {  // FNV-1a
        hash_ = (hash_ ^ static_cast<unsigned char>(buffer_[i])) * 0x100000001b3;
      }
      if (show_) {
        [[maybe_unused]] const ssize_t wrote =
            write(STDERR_FILENO, buffer_, static_cast<size_t>(got));
      }
    }
  }
  uint64_t hash() const { return hash_; }

 private:
  int descriptor_;
  bool show_;
  uint64_t hash_ = 0xcbf29ce484222325;
  char buffer_[1 << 16];
};

}  // namespace

void Execution::use(const rusage& usage) {
  cpu_ms = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
  faults = static_cast<double>(usage.ru_minflt + usage.ru_majflt);
}

Execution execute(const std::vector<std::string>& words, const std::string& library, bool show) {
  const BlockedSignals blocked;
  Pipe out;
  // A child begins with the peak of the process it is forked from: ours is small, and only what
  // fork copies counts.
  const auto begin = Child::Clock::now();
  Child child(words, library, out.ends[1], show ? STDERR_FILENO : -1, blocked);
  out.close_end(1);
  Output output(out.ends[0], show);
  // Its descendants may keep the pipe open: they are not waited for.
  pollfd source{out.ends[0], POLLIN, 0};
  while (!child.ended() && !is_interrupted()) {
    child.wait(std::nullopt, &source);
    if (!output.read_some()) source.fd = -1;  // closed; the program may go on
  }
  child.end();
  Execution run;
  run.wall_ms = std::chrono::duration<double, std::milli>(Child::Clock::now() - begin).count();
  output.read_some();
  run.use(child.usage());
  if (child.status() != 0) run.failure = end_text(child.status());
  run.output = output.hash();
  return run;
}

std::string objection_to(const std::string& library) {
  const BlockedSignals blocked;
  Pipe err;
  Child child({"/proc/self/exe", "--version"}, library, -1, err.ends[1], blocked);
  err.close_end(1);
  const std::string text = read_all(err.ends[0]);
  while (!child.ended()) child.wait(Child::Clock::now() + std::chrono::milliseconds(100));
  if (child.status() != 0) return "a program does not start under it";
  return text.find(library) == std::string::npos ? "" : text.substr(0, text.find('\n'));
}

}  // namespace pktmalloc

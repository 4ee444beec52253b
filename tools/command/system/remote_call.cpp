// SPDX-License-Identifier: MIT
#include "tools/command/system/remote_call.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "tools/command/failure.h"
#include "tools/command/system/call_registers.h"
#include "tools/command/system/process.h"

namespace pktmalloc {
namespace {

constexpr size_t kSearched = size_t{1} << 20;  // of a mapping; libc has it earlier
// Should the child run, because this command is killed at the wrong moment: it faults at once.
constexpr uint64_t kNoStack = 16;

uint64_t word(const void* address) { return reinterpret_cast<uint64_t>(address); }

bool has_ended(pid_t thread) {
  try {
    const std::string state = Process(thread).field(Process::kState);
    return state == "Z" || state == "X";
  } catch (const Failure&) {
    return true;
  }
}

// Not a signal that somebody sent.
bool is_fault(pid_t thread, int signal) {
  if (signal != SIGSEGV && signal != SIGBUS && signal != SIGILL && signal != SIGFPE) return false;
  siginfo_t about{};
  return ptrace(PTRACE_GETSIGINFO, thread, nullptr, &about) == 0 && about.si_code > 0;
}

}  // namespace

std::optional<RemoteCall> RemoteCall::prepare(pid_t pid, pid_t thread) {
  if (!CallRegisters::kCanCall || Process(thread).filters() != 0) return std::nullopt;
  const ProcessMemory memory(pid, thread);
  std::vector<char> bytes(kSearched);
  for (const Mapping& m : Process(pid).mappings()) {
    if (!m.executable || !m.readable || m.path.empty() || m.path[0] != '/') continue;
    const size_t size = std::min<size_t>(kSearched, m.end - m.start);
    const RemoteMemory::Piece piece{m.start, bytes.data(), size};
    if (memory.copy({&piece, 1}) == 0) continue;
    const void* const found =
        memmem(bytes.data(), size, CallRegisters::kInstruction, sizeof CallRegisters::kInstruction);
    if (found != nullptr) return RemoteCall(memory, m.start + (word(found) - word(bytes.data())));
  }
  return std::nullopt;
}

bool RemoteCall::is_possible(pid_t thread) const {
  CallRegisters registers;
  if (!registers.get(thread)) return false;
  if (registers.in_call()) return true;  // which none may hold
  __ptrace_rseq_configuration sequences{};
  if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread, sizeof sequences, &sequences) <= 0) {
    return false;
  }
  constexpr uint64_t kCurrent = 8;  // of struct rseq
  return sequences.rseq_abi_pointer == 0 ||
         memory_.load<uint64_t>(sequences.rseq_abi_pointer + kCurrent) == 0;
}

// Of a process that ends the first thread cannot be waited for until all others have been: not for
// ever.
int wait_for_stop(pid_t thread) {
  for (unsigned looks = 1;; ++looks) {
    int status = 0;
    const pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
    if (found != 0) return found == thread && WIFSTOPPED(status) ? status : -1;
    if (looks % 50 == 0 && has_ended(thread)) return -1;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

// Where it stands now; signals wait meanwhile. -1: it makes no call any more. A fault is one of the
// instruction at which it stands, which faults again if it is the program's own.
int RemoteCall::next_stop(pid_t thread) {
  for (;;) {
    const int status = wait_for_stop(thread);
    if (status < 0) return -1;
    const int stop = status >> 8;
    if (stop == (SIGTRAP | 0x80) || stop >> 8 != 0) return stop;
    if (is_fault(thread, stop)) return -1;
    signals_.push_back(stop);
    if (ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr) != 0) return -1;
  }
}

void RemoteCall::call(pid_t thread, long number, uint64_t a, uint64_t b, uint64_t c) {
  CallRegisters before;
  if (!before.get(thread)) return;
  CallRegisters wanted = before;
  wanted.call(instruction_, number, {a, b, c});
  wanted.set(thread);
  // Into the call, perhaps to the birth of a child, and out of it.
  for (int entered = 0; entered < 2;) {
    if (ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr) != 0) return;
    const int stop = next_stop(thread);
    if (stop < 0) break;
    if (stop == (SIGTRAP | 0x80)) ++entered;
    if (stop >> 8 == PTRACE_EVENT_CLONE) {
      unsigned long child = 0;
      ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &child);
      child_ = static_cast<pid_t>(child);
      ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_EXITKILL);
    }
  }
  before.make_anew();
  before.set(thread);
}

pid_t RemoteCall::copy_memory(pid_t thread) {
  child_ = 0;
  if (ptrace(PTRACE_SETOPTIONS, thread, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE) !=
      0) {
    return 0;
  }
  // It shares the table of open files, so that what the process closes is closed.
  call(thread, SYS_clone, CLONE_FILES | CLONE_FS, kNoStack, 0);
  if (child_ == 0) return 0;
  waitpid(child_, nullptr, __WALL);
  // Also if it stood only now.
  ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_EXITKILL);
  return child_;
}

void RemoteCall::forget_child(pid_t thread, pid_t child) {
  if (ptrace(PTRACE_SETOPTIONS, thread, nullptr, PTRACE_O_TRACESYSGOOD) != 0) return;
  call(thread, SYS_wait4, static_cast<uint64_t>(child), 0, __WCLONE | WNOHANG);
}

std::vector<int> RemoteCall::take_signals() { return std::exchange(signals_, {}); }

}  // namespace pktmalloc

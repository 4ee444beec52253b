// SPDX-License-Identifier: MIT
// CallRegisters: those of a thread that stands still and that this thread traces, as far as a call
// of the system goes (remote_call.h). All that is particular to a processor in the command is here.
#pragma once

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace pktmalloc {

#if defined(__x86_64__)

// What PTRACE_GETREGSET gives that may hold pointers, and the stack pointer's place in the first
// (stop.h).
inline constexpr int kRegisterSets[] = {NT_PRSTATUS, NT_X86_XSTATE};
inline constexpr size_t kStackPointer = offsetof(user_regs_struct, rsp) / sizeof(uint64_t);

class CallRegisters {
 public:
  static constexpr bool kCanCall = true;
  static constexpr unsigned char kInstruction[] = {0x0f, 0x05};  // that makes a call

  bool get(pid_t thread) { return ptrace(PTRACE_GETREGS, thread, nullptr, &all_) == 0; }
  void set(pid_t thread) { ptrace(PTRACE_SETREGS, thread, nullptr, &all_); }

  bool in_call() const { return static_cast<long>(all_.orig_rax) >= 0; }
  long result() const { return static_cast<long>(all_.rax); }

  void call(uint64_t instruction, long number, const std::array<uint64_t, 3>& arguments) {
    all_.rip = instruction;
    all_.orig_rax = ~uint64_t{0};
    all_.rax = static_cast<uint64_t>(number);
    all_.rdi = arguments[0];
    all_.rsi = arguments[1];
    all_.rdx = arguments[2];
    all_.r10 = all_.r8 = all_.r9 = 0;
  }

  // The thread goes on behind the call, or makes it anew, as the kernel would have it do.
  void make_anew() {
    if (!in_call()) return;
    if (result() == kRestartSys || result() == kRestartNoIntr || result() == kRestartNoHand) {
      all_.rax = all_.orig_rax;
    } else if (result() == kRestartBlock) {
      all_.rax = SYS_restart_syscall;
    } else {
      return;
    }
    all_.rip -= sizeof kInstruction;
    all_.orig_rax = ~uint64_t{0};
  }

 private:
  // What the kernel says of a call that it will make anew (linux/errno.h, not for programs).
  static constexpr long kRestartSys = -512, kRestartNoIntr = -513, kRestartNoHand = -514,
                        kRestartBlock = -516;

  user_regs_struct all_{};
};

#else

inline constexpr int kRegisterSets[] = {NT_PRSTATUS, NT_PRFPREG};
inline constexpr size_t kStackPointer = offsetof(user_regs_struct, sp) / sizeof(uint64_t);

// No call is made: the process stands while it is read (look.h).
class CallRegisters {
 public:
  static constexpr bool kCanCall = false;
  static constexpr unsigned char kInstruction[] = {0};

  bool get(pid_t) { return false; }
  void set(pid_t) {}
  bool in_call() const { return false; }
  long result() const { return -1; }
  void call(uint64_t, long, const std::array<uint64_t, 3>&) {}
  void make_anew() {}
};

#endif

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// The system calls of a program and all its threads and children, by number, through seccomp:
//     system_calls tell FILE PROGRAM...        writes into FILE which it makes, one number a line
//     system_calls allow N,N,... PROGRAM...    kills it at any other (SIGSYS)
//     system_calls refuse N,N,... FIRST LAST PROGRAM...
//         between its first and its second getppid refuses these with ENOMEM, from the FIRST such
//         call to the LAST; tells on stdout how many
// What is needed to begin with, sendmsg and execve, is always allowed; sendmsg is not told.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

enum { kMostCalls = 512 };

// Does `at_these` at these calls and `otherwise` at all others.
static int filter(const unsigned* calls, unsigned short count, unsigned at_these,
                  unsigned otherwise, unsigned flags) {
  struct sock_filter code[2 * kMostCalls + 5];
  unsigned short n = 0;
  code[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  code[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (unsigned short i = 0; i < count; ++i) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, at_these);
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
  const struct sock_fprog program = {n, code};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  CHECK(result >= 0);
  return (int)result;
}

static void send_descriptor(int socket, int fd) {
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {.header = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  char byte = 0;
  struct iovec data = {&byte, 1};
  const struct msghdr message = {NULL, 0, &data, 1, &control, sizeof control, 0};
  CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_descriptor(int socket) {
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  char byte;
  struct iovec data = {&byte, 1};
  struct msghdr message = {NULL, 0, &data, 1, &control, sizeof control, 0};
  CHECK(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1);
  int fd;
  memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
  return fd;
}

// Which calls are refused, and how many were.
struct Refusals {
  unsigned long first, last, calls, refused;
  int marks;  // calls of getppid
};

static int refuse_now(struct Refusals* refusals, int call) {
  if (call == SYS_getppid) {
    ++refusals->marks;
    return 0;
  }
  if (refusals->marks != 1) return 0;
  const unsigned long mine = ++refusals->calls;
  const int refuse = mine >= refusals->first && mine <= refusals->last;
  refusals->refused += refuse;
  return refuse;
}

// Notes every call and lets it pass, unless it is to be refused, until the last process has ended.
static void supervise(int listener, char* made, struct Refusals* refusals) {
  struct pollfd waiting = {listener, POLLIN, 0};
  while (poll(&waiting, 1, -1) > 0 && (waiting.revents & POLLIN) != 0) {
    struct seccomp_notif call = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
    if (call.data.nr >= 0 && call.data.nr < kMostCalls) made[call.data.nr] = 1;
    const int refuse = refuse_now(refusals, call.data.nr);
    struct seccomp_notif_resp answer = {call.id, 0, refuse ? -ENOMEM : 0,
                                        refuse ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

static unsigned short numbers(char* list, unsigned* calls, unsigned short count) {
  for (char* n = strtok(list, ","); n != NULL && count < kMostCalls; n = strtok(NULL, ",")) {
    calls[count++] = (unsigned)strtoul(n, NULL, 10);
  }
  return count;
}

static int end_of(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) dprintf(2, "ended by: %s\n", strsignal(WTERMSIG(status)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// LD_PRELOAD and the options are for the program alone.
static void become(char** argv) {
  const char* preload = getenv("PRELOAD");
  if (preload != NULL) CHECK(setenv("LD_PRELOAD", preload, 1) == 0);
  execv(argv[0], argv);
  _exit(127);
}

// Runs the program under a filter that asks this process at every call, or at these calls only.
static int run_supervised(const unsigned* calls, unsigned short count, int only_these, char** argv,
                          char* made, struct Refusals* refusals) {
  int sockets[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const unsigned ask = SECCOMP_RET_USER_NOTIF, pass = SECCOMP_RET_ALLOW;
    send_descriptor(sockets[1], filter(calls, count, only_these ? ask : pass,
                                       only_these ? pass : ask, SECCOMP_FILTER_FLAG_NEW_LISTENER));
    become(argv);
  }
  close(sockets[1]);
  supervise(receive_descriptor(sockets[0]), made, refusals);
  return end_of(child);
}

static int tell(const char* path, char** argv) {
  FILE* file = fopen(path, "w");
  CHECK(file != NULL);
  const unsigned unasked = SYS_sendmsg;
  static char made[kMostCalls];
  struct Refusals none = {0};
  const int end = run_supervised(&unasked, 1, 0, argv, made, &none);
  for (int n = 0; n < kMostCalls; ++n) {
    if (made[n]) fprintf(file, "%d\n", n);
  }
  CHECK(fclose(file) == 0);
  return end;
}

static int allow(char* list, char** argv) {
  unsigned calls[kMostCalls] = {SYS_execve};
  const unsigned short count = numbers(list, calls, 1);
  const pid_t child = fork();
  if (child == 0) {
    filter(calls, count, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, 0);
    become(argv);
  }
  return end_of(child);
}

static int refuse(char* list, const char* first, const char* last, char** argv) {
  unsigned calls[kMostCalls] = {SYS_getppid};
  const unsigned short count = numbers(list, calls, 1);
  static char made[kMostCalls];
  struct Refusals refusals = {strtoul(first, NULL, 10), strtoul(last, NULL, 10), 0, 0, 0};
  const int end = run_supervised(calls, count, 1, argv, made, &refusals);
  printf("refused %lu\n", refusals.refused);
  return end;
}

int main(int argc, char** argv) {
  if (argc > 3 && strcmp(argv[1], "tell") == 0) return tell(argv[2], argv + 3);
  if (argc > 3 && strcmp(argv[1], "allow") == 0) return allow(argv[2], argv + 3);
  if (argc > 5 && strcmp(argv[1], "refuse") == 0) {
    return refuse(argv[2], argv[3], argv[4], argv + 5);
  }
  dprintf(2,
          "use: system_calls tell FILE PROGRAM... | allow N,N,... PROGRAM... | "
          "refuse N,N,... FIRST LAST PROGRAM...\n");
  return 2;
}

// SPDX-License-Identifier: MIT
// A thread that works with a reserved class makes no system call in malloc or free, while a
// background thread gives memory back and other threads come and go, fill and empty other classes.
// If they work with its class, too, it may wait for one that has its lock. The kernel traps any
// other call of the system that the thread makes.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

// Reserved by PKTMALLOC_RESERVE: 60000 objects.
enum { kObjects = 20000, kBytes = 1500, kRing = 1024, kSeconds = 2 };
static const double kQuiet = 0.2;

// One writer, one reader.
struct ring {
  _Atomic(void*) slots[kRing];
};
static struct ring there, back;
static atomic_bool ends;

static int put(struct ring* ring, unsigned at, void* object) {
  if (atomic_load(&ring->slots[at % kRing]) != NULL) return 0;
  atomic_store(&ring->slots[at % kRing], object);
  return 1;
}

static void* take(struct ring* ring, unsigned at) {
  return atomic_exchange(&ring->slots[at % kRing], NULL);
}

// Frees what comes and sends as much.
static void* partner(void* unused) {
  unsigned in = 0, out = 0;
  while (!atomic_load(&ends)) {
    void* const object = take(&there, in);
    if (object == NULL) continue;
    ++in;
    free(object);
    void* const another = malloc(kBytes);
    if (another == NULL || !put(&back, out, another))
      free(another);
    else
      ++out;
  }
  return unused;
}

static bool shares = false;  // the class

static void* guest(void* unused) {
  void* objects[3000];
  const int count = shares ? 3000 : 100;  // so few that nobody need look after them
  for (int i = 0; i < count; ++i) objects[i] = malloc(shares && i % 2 == 0 ? kBytes : i % 1000);
  for (int i = 0; i < count; ++i) free(objects[i]);
  return unused;
}

static void* host(void* unused) {
  while (!atomic_load(&ends)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, guest, NULL) == 0) pthread_join(thread, NULL);
  }
  return unused;
}

static void on_system_call(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  char text[64];
  const int length = snprintf(text, sizeof text, "system call %d\n", info->si_syscall);
  _exit(write(STDERR_FILENO, text, (size_t)length) == length ? 1 : 2);
}

static int trap_system_calls(void) {
  const uint32_t waits = shares ? SYS_futex : SYS_exit_group;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),  // of the handler
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, waits, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  const struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO};
  return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void work(void) {
  static void* objects[kObjects];
  unsigned out = 0, in = 0;
  const double end = seconds() + kSeconds;
  while (seconds() < end) {
    for (int i = 0; i < kObjects; ++i) objects[i] = malloc(kBytes);
    for (int i = 0; i < kObjects; ++i) free(objects[i]);
    for (int i = 0; shares && i < 100000; ++i) {
      void* const object = malloc(kBytes);
      if (put(&there, out, object)) {
        ++out;
      } else {
        free(object);
      }
      void* const other = take(&back, in);
      if (other != NULL) ++in, free(other);
    }
    // Time enough for all to age, and for whoever sees to that to sleep.
    for (const double quiet = seconds() + kQuiet; seconds() < quiet;) free(malloc(kBytes));
  }
}

int main(void) {
  for (int n = 0; n < 2; ++n) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      shares = n == 1;
      pthread_t thread;
      CHECK(!shares || pthread_create(&thread, NULL, partner, NULL) == 0);
      CHECK(pthread_create(&thread, NULL, host, NULL) == 0);
      free(malloc(kBytes));  // from now on the thread is known
      if (trap_system_calls()) work();
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

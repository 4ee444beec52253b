// SPDX-License-Identifier: MIT
// Runs with PKTMALLOC_CONTROL=1 and gives itself orders, as pktmalloc tell would. Arguments: MODE
// ORDER; MODE is
//   often      a hundred times; without arguments trim, three times
//   closed     after it has closed all descriptors, and opened others in their place
//   full       once no descriptor is left
//   silent     while a hundred clients say nothing
//   rude       after clients that send too much, nothing, or do not read their answer
//   children   to its children, which have asked for memory since they were forked
//   ended      after a thread ended by the system call `exit`; its stack has another use by then
//   exec       before and after it became itself anew
//   waits      none: it holds 10 MiB and 100 bytes, has freed 40 MiB, writes a line, and waits
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "tell.h"

enum { kClients = 100, kChildren = 3, kBytes = 5000 };

static void often(int times, const char* order) {
  for (int i = 0; i < times; ++i) tell(getpid(), order);
}

static void closed(const char* order) {
  int pipes[kClients][2];
  closefrom(3);
  for (int i = 0; i < kClients; ++i) {
    CHECK(pipe(pipes[i]) == 0);
    CHECK(write(pipes[i][1], "x", 1) == 1);
  }
  often(10, order);
  char byte[2];
  for (int i = 0; i < kClients; ++i) CHECK(read(pipes[i][0], byte, 2) == 1 && byte[0] == 'x');
}

static void full(const char* order) {
  const struct rlimit few = {100, 100};
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  tell(getpid(), order);
  const int last = connect_to_control(getpid());
  while (dup(last) >= 0) {
  }
  char answer[5000];
  CHECK(send(last, order, strlen(order), 0) > 0 && recv(last, answer, sizeof answer, 0) > 0);
  CHECK(answer[0] == '+');
  closefrom(3);  // for what the library writes at exit
}

static void silent(const char* order) {
  for (int i = 0; i < kClients; ++i) connect_to_control(getpid());
  often(10, order);
}

static void rude(const char* order) {
  static char much[100000];
  memset(much, 'x', sizeof much);
  for (int i = 0; i < kClients; ++i) {
    int s = connect_to_control(getpid());
    send(s, much, sizeof much, MSG_NOSIGNAL);
    close(s);
    s = connect_to_control(getpid());
    send(s, "", 0, MSG_NOSIGNAL);
    close(s);
    s = connect_to_control(getpid());
    for (int n = 0; n < 100; ++n) send(s, order, strlen(order), MSG_NOSIGNAL | MSG_DONTWAIT);
    close(s);
  }
  often(10, order);
}

static void children(const char* order) {
  pid_t child[kChildren];
  free(malloc(100));  // their first call would need no trip
  for (int i = 0; i < kChildren; ++i) {
    if ((child[i] = fork()) == 0) {
      void* volatile p = malloc(100);
      free(p);
      for (;;) pause();
    }
  }
  tell(getpid(), order);
  for (int i = 0; i < kChildren; ++i) {
    tell(child[i], order);
    CHECK(kill(child[i], SIGKILL) == 0 && waitpid(child[i], NULL, 0) == child[i]);
  }
  tell(getpid(), order);
}

static void* end_by_system_call(void* unused) {
  void* volatile p = malloc(100);
  free(p);
  syscall(SYS_exit, 0);
  return unused;
}

static void ended(const char* order) {
  static unsigned char stack[1 << 18] __attribute__((aligned(4096)));
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstack(&attributes, stack, sizeof stack) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &attributes, end_by_system_call, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  memset(stack, 0xAB, sizeof stack);
  tell(getpid(), order);
  for (size_t i = 0; i < sizeof stack; ++i) CHECK(stack[i] == 0xAB);
}

static void wait_for_orders(void) {
  void* volatile of_another_class = malloc(100);
  CHECK(of_another_class != NULL);
  static void* objects[(50 << 20) / kBytes];
  const int count = sizeof objects / sizeof *objects;
  for (int i = 0; i < count; ++i) CHECK((objects[i] = malloc(kBytes)) != NULL);
  for (int i = count / 5; i < count; ++i) free(objects[i]);
  CHECK(write(1, "ready\n", 6) == 6);
  for (;;) pause();
}

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  const char* const order = argc > 2 ? argv[2] : "trim";
  if (argc == 1) often(3, order);
  if (strcmp(mode, "often") == 0) often(100, order);
  if (strcmp(mode, "closed") == 0) closed(order);
  if (strcmp(mode, "full") == 0) full(order);
  if (strcmp(mode, "silent") == 0) silent(order);
  if (strcmp(mode, "rude") == 0) rude(order);
  if (strcmp(mode, "children") == 0) children(order);
  if (strcmp(mode, "ended") == 0) ended(order);
  if (strcmp(mode, "waits") == 0) wait_for_orders();
  if (strcmp(mode, "exec") == 0) {
    tell(getpid(), order);
    execl("/proc/self/exe", argv[0], "often", order, NULL);
    return 1;
  }
  return 0;
}

// SPDX-License-Identifier: MIT
// Runs a command and writes down what it used.
//
// `measure OUTPUT LIBRARY COMMAND...`: COMMAND runs with LD_PRELOAD=LIBRARY, or without any when
// LIBRARY is empty; its streams are ours, its exit status ours (128 + signal when killed, 127 when
// it cannot be started). OUTPUT becomes one line of JSON:
//   wall_ms, user_ms, system_ms     of the command and of those children it waited for
//   process_peak_mib                most that any one of these processes had in RAM
//   minor_faults, major_faults
// A process of its own, because a child starts with the peak of the process that it was forked
// from, and an interpreter's is larger than that of many workloads.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static double ms_of(struct timeval time) {
  return 1e3 * (double)time.tv_sec + 1e-3 * (double)time.tv_usec;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: measure OUTPUT LIBRARY COMMAND...\n");
    return 2;
  }
  FILE* output = fopen(argv[1], "we");
  if (output == NULL) {
    perror(argv[1]);
    return 2;
  }
  double begin = now_ms();
  pid_t child = fork();
  if (child == 0) {
    if (argv[2][0] != '\0')
      setenv("LD_PRELOAD", argv[2], 1);
    else
      unsetenv("LD_PRELOAD");
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    _exit(127);
  }
  int status;
  struct rusage usage;
  if (child < 0 || wait4(child, &status, 0, &usage) != child) {
    perror("measure");
    return 2;
  }
  fprintf(output,
          "{\"wall_ms\": %.3f, \"user_ms\": %.3f, \"system_ms\": %.3f, \"process_peak_mib\": %.3f, "
          "\"minor_faults\": %ld, \"major_faults\": %ld}\n",
          now_ms() - begin, ms_of(usage.ru_utime), ms_of(usage.ru_stime),
          (double)usage.ru_maxrss / 1024.0, usage.ru_minflt, usage.ru_majflt);
  if (fclose(output) != 0) {
    perror(argv[1]);
    return 2;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

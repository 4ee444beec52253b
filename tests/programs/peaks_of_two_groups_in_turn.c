// SPDX-License-Identifier: MIT
// Threads hold ever more objects: of the even sizes, then, those all freed, of the odd ones, and so
// on; at any moment as many of every size, up to one for each thread. Orders a report of sizes
// again and again meanwhile, without waiting for it, until a file is there. Arguments: threads, the
// file.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "tell.h"
#include "threads.h"

enum { kMostThreads = 4, kSizes = 100, kFew = 50, kMany = 500, kBetweenReports = 500 };

static pthread_barrier_t barrier;
static const char* file;
static int stop;
static void* objects[kMostThreads][kMany * kSizes];

static void order_report(void) {
  const int control = connect_to_control(getpid());
  send(control, "sizes", 5, MSG_NOSIGNAL);
  close(control);
}

static void* work(void* number) {
  void** const mine = objects[(size_t)number];
  int of_each = kFew;
  for (size_t odd = 0;; odd = 1 - odd) {
    for (int i = 0; i < of_each * kSizes; ++i) {
      CHECK((mine[i] = malloc(700 + 2 * (size_t)(i % kSizes) + odd)) != NULL);
      if (number == NULL && i % kBetweenReports == 0) order_report();
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < of_each * kSizes; ++i) free(mine[i]);
    if (number == NULL) stop = access(file, F_OK) == 0;
    pthread_barrier_wait(&barrier);
    if (stop) return NULL;
    of_each += of_each / kFew;
    if (of_each > kMany) of_each = kFew;
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  file = argv[2];
  const size_t count = (size_t)atoi(argv[1]);
  CHECK(count >= 1 && count <= kMostThreads);
  CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)count) == 0);
  pthread_t threads[kMostThreads];
  start_threads(threads, count, work);
  join_threads(threads, count);
  return 0;
}

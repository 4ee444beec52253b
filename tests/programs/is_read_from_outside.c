// SPDX-License-Identifier: MIT
// `is_read_from_outside MODE FILE [THREADS]`: uses the heap in a known way and stays; FILE gets its
// own statistics as JSON, then stdout the line "ready PID". MODE:
//   holds  threads that hold objects and cached ones, and wait
//   forks  the same; its child, without exec, is the one that tells and stays
//   ends   the same, and the thread of main() ends before
//   works  threads that exchange objects without an end; no FILE is written
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "interface.h"
#include "random.h"

enum { kThreadsMost = 1000, kSlots = 256, kOfNobodyElse = 3500 };
static const size_t kSizes[] = {24, 64, 100, 640, 1500, 5000, 100000};
static size_t thread_count = 4;
static pthread_barrier_t done;
static pthread_t main_thread;
static const char* path;
static _Atomic(void*) slots[kSlots];

static void* stay(void) {
  while (pause() != 0) {
  }
  return NULL;
}

// dprintf would allocate.
static void say_ready(void) {
  char line[32];
  const int length = snprintf(line, sizeof line, "ready %d\n", getpid());
  CHECK(write(1, line, (size_t)length) == length);
}

static void tell(void) {
  static char json[256 << 10];
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const size_t bytes = pktmalloc_statistics_json(json, sizeof json);
  CHECK(bytes < sizeof json && write(fd, json, bytes) == (ssize_t)bytes && close(fd) == 0);
  say_ready();
}

// What it holds stays in its magazines and in the program's hands; more than a magazine of one size
// goes through the depot.
static void* hold(void* argument) {
  const size_t number = (size_t)argument;
  static void* held[700];
  for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i) {
    for (size_t n = 0; n < 3 + number % 10; ++n) CHECK(malloc(kSizes[i]) != NULL);
    free(malloc(kSizes[i]));
  }
  if (number == 0) {
    for (size_t i = 0; i < 700; ++i) CHECK((held[i] = malloc(64)) != NULL);
    for (size_t i = 0; i < 600; ++i) free(held[i]);
  }
  pthread_barrier_wait(&done);
  if (number == 0 && main_thread != 0) {
    CHECK(pthread_join(main_thread, NULL) == 0);
    tell();
  }
  return stay();
}

// Runs after the library's own destructor: such objects come from the slabs at once.
static void hold_late(void* unused) {
  (void)unused;
  for (int i = 0; i < 3; ++i) CHECK(malloc(640) != NULL);
}

// Leaves magazines in the depot.
static void* come_and_go(void* argument) {
  pthread_key_t key;
  CHECK(pthread_key_create(&key, hold_late) == 0 && pthread_setspecific(key, &done) == 0);
  static void* held[500];
  for (size_t i = 0; i < 500; ++i) CHECK((held[i] = malloc(kOfNobodyElse)) != NULL);
  for (size_t i = 0; i < 500; ++i) free(held[i]);
  return argument;
}

static void* work(void* argument) {
  uint64_t random = (uint64_t)(size_t)argument + 1;
  for (;;) {
    void* block = malloc(kSizes[next_random(&random) % 6]);
    CHECK(block != NULL);
    free(atomic_exchange(&slots[next_random(&random) % kSlots], block));
  }
  return NULL;
}

// As a thread's may: right behind the library's variables. Allocates nothing.
static void put_a_guard_page_behind_the_library(void) {
  static char maps[1 << 16];
  const int fd = open("/proc/self/maps", O_RDONLY);
  size_t length = 0;
  ssize_t more;
  while ((more = read(fd, maps + length, sizeof maps - 1 - length)) > 0) length += (size_t)more;
  close(fd);
  unsigned long begin, end, variables_end = 0;
  for (char* line = strtok(maps, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    CHECK(sscanf(line, "%lx-%lx", &begin, &end) == 2);
    const int anonymous = strchr(line, '/') == NULL && strchr(line, '[') == NULL;
    if (strstr(line, "/libpktmalloc") != NULL || (anonymous && begin == variables_end)) {
      variables_end = end;
    }
  }
  if (variables_end == 0) return;
  mmap((void*)variables_end, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
       0);
}

int main(int argc, char** argv) {
  CHECK(argc >= 3);
  const char* mode = argv[1];
  path = argv[2];
  if (argc > 3) thread_count = (size_t)atoi(argv[3]);
  if (strcmp(mode, "ends") == 0) main_thread = pthread_self();
  put_a_guard_page_behind_the_library();
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 17) == 0);
  CHECK(pthread_barrier_init(&done, NULL, (unsigned)thread_count + 1) == 0);
  const int works = strcmp(mode, "works") == 0;
  for (size_t i = 0; i < thread_count; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, &small, works ? work : hold, (void*)i) == 0);
  }
  // Afterwards: memory that the others ask for would make what waits in the depot go back.
  if (!works) pthread_barrier_wait(&done);
  pthread_t short_lived;
  CHECK(pthread_create(&short_lived, &small, come_and_go, NULL) == 0);
  CHECK(pthread_join(short_lived, NULL) == 0);
  for (int i = 0; i < 3; ++i) CHECK(malloc(40 << 20) != NULL);
  if (works) {
    say_ready();
    stay();
  }
  if (main_thread != 0) pthread_exit(NULL);
  if (strcmp(mode, "forks") == 0) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) stay();
  }
  tell();
  stay();
}

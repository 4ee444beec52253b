// SPDX-License-Identifier: MIT
// holds_until_it_ends WAY [lose|perhaps|end]: holds objects that destructors and exit handlers
// would lose, and if it is told so loses three of 100 bytes; or perhaps one, of two neighbours of
// which it knows the other; or has of a large block, the last of all addresses, only the end. Says
// "said late" on stdout in an exit handler, and ends with status 3 if the way has one.
#include <error.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "check.h"

struct Held {
  virtual ~Held() = default;
  Held* next = nullptr;
  char bytes[1000] = {};
};

static std::vector<Held*> some;  // forgets them when it ends

static std::map<int, Held*>& more() {
  static std::map<int, Held*> all;
  return all;
}

static void say_late() {
  printf("said late");
  Held* const list = more()[0];
  more().clear();
  for (Held *one = list, *next; one != nullptr; one = next) next = one->next, delete one;
}

__attribute__((noinline, noclone)) static void lose() {
  for (int i = 0; i < 3; ++i) {
    void* const lost = malloc(100);
    CHECK(lost != nullptr);
    memset(lost, 0, 100);
  }
}

static char* volatile known;

__attribute__((noinline, noclone)) static void lose_perhaps() {
  constexpr size_t kBytes = 2048;
  char* all[64];
  for (char*& one : all) CHECK((one = static_cast<char*>(calloc(1, kBytes))) != nullptr);
  for (char*& one : all) {
    char** const next = std::find(all, all + 64, one + kBytes);
    if (next == all + 64) continue;
    known = *next;
    one = *next = nullptr;
    break;
  }
  CHECK(known != nullptr);
  for (char* const one : all) free(one);
}

__attribute__((noinline, noclone)) static void know_an_end() {
  constexpr size_t kBytes = 256 << 20;
  char* const block = static_cast<char*>(malloc(kBytes));
  CHECK(block != nullptr);
  known = block + kBytes;
}

static void wipe_stack() {
  char bytes[64 << 10];
  memset(bytes, 0, sizeof bytes);
  __asm__ volatile("" : : "r"(bytes) : "memory");
}

static void wait_for(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
}

int main(int argc, char** argv) {
  CHECK(argc > 1);
  const std::string way = argv[1];
  for (int i = 0; i < 20; ++i) some.push_back(new Held);
  Held* first = nullptr;
  for (int i = 0; i < 20; ++i) {
    Held* const one = new Held;
    one->next = first;
    first = one;
  }
  more()[0] = first;
  atexit(say_late);
  const std::string what = argc > 2 ? argv[2] : "";
  if (what == "lose") lose();
  if (what == "perhaps") lose_perhaps();
  if (what == "end") know_an_end();
  wipe_stack();
  if (way == "return") return 3;
  if (way == "exit") exit(3);
  if (way == "error") error(3, 0, "it ends so");
  if (way == "thread") {
    std::thread([] { exit(3); }).join();
  } else if (way == "last") {
    std::thread([] { usleep(1000); }).detach();
    pthread_exit(nullptr);
  } else if (way == "_exit") {
    _exit(3);
  } else if (way == "quick_exit") {
    quick_exit(3);
  } else if (way == "fork") {
    const pid_t child = fork();
    if (child > 0) wait_for(child);
    exit(child > 0 ? 3 : 4);
  } else if (way == "vfork") {
    const pid_t child = vfork();
    if (child == 0) _exit(4);
    wait_for(child);
    exit(3);
  }
  abort();
}

// SPDX-License-Identifier: MIT
// `loses_known_objects [WAIT [ALONE]]`: loses some objects and keeps others in every way there is
// to reach them; with WAIT says "ready PID" on stdout and stays; with ALONE without its main
// thread. Each kind has a type of its own.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "check.h"

struct Base {
  virtual ~Base() = default;
  void* next = nullptr;
  char bytes[80] = {};
};
// Lost.
struct Lost : Base {};  // and a text
struct Head : Base {};
struct Hung : Base {};
struct Ring : Base {};
struct Hidden : Base {};                // known only by an address that is not one
struct Tagged : Base {};                // by one with a mark in its upper bits
struct InFreed : Base {};               // known to an object that was freed
struct PastEnd : Base {                 // perhaps: an old address of what was behind is known
  char more[1024 - sizeof(Base)] = {};  // a size that nothing else has
};
struct InEnded : Base {};     // known to a variable of a thread that ended, and to its key
struct OnOldStack : Base {};  // known to a function that has returned
// Kept.
struct Kept : Base {};
struct Inside : Base {};  // known by an address in the middle
struct Marked : Base {};  // by one with a mark in its lowest bit
struct OnStack : Base {};
struct InThread : Base {};
struct InKey : Base {};  // known to pthread_setspecific only
struct InMap : Base {};
struct InLarge : Base {};  // known to a block that no class serves
struct InMapping : Base {};
struct NotForked : Base {};  // known to memory that no child gets
struct Shared : Base {};     // to memory that a child would share

static void* volatile kept[40];
static void* volatile inside[10];
static volatile uintptr_t hidden[10], tagged[10], marked[10];
static void* volatile ends[5];
static void** volatile large;
static void** volatile mapping;
static void** volatile not_forked;
static void** volatile shared;
static std::map<int, Base*>* tree;
static thread_local void* volatile mine[10];
static pthread_key_t keys[40];  // more than a thread has room for in itself
static std::atomic<int> ready{0};

#define ALONE __attribute__((noinline, noclone))

// Else the compiler would make nothing of what nobody uses.
static void use(void* object) { __asm__ volatile("" : : "r"(object) : "memory"); }

ALONE static void lose() {
  for (int i = 0; i < 10; ++i) use(new Lost);
  char* const text = static_cast<char*>(malloc(5000));
  CHECK(text != nullptr);
  use(strcpy(text, "the quick brown fox"));
  Base* head = new Head;
  use(head);
  for (int i = 0; i < 7; ++i) {
    Base* one = new Hung;
    head->next = one;
    head = one;
  }
  for (int ring = 0; ring < 2; ++ring) {
    Base* const first = new Ring;
    Base* const second = new Ring;
    Base* const third = new Ring;
    use(first);
    first->next = second, second->next = third, third->next = first;
  }
  for (int i = 0; i < 2; ++i) hidden[i] = ~reinterpret_cast<uintptr_t>(new Hidden);
  for (int i = 0; i < 2; ++i) tagged[i] = reinterpret_cast<uintptr_t>(new Tagged) | 0xabUL << 56;
  for (int i = 0; i < 3; ++i) {
    void** volatile block = static_cast<void**>(malloc(200));
    for (int word = 0; word < 25; ++word) block[word] = nullptr;
    block[20] = new InFreed;
    free(block);
  }
}

static void** map_pages(int sharing = MAP_PRIVATE) {
  void* const pages =
      mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  return static_cast<void**>(pages);
}

ALONE static void keep() {
  for (int i = 0; i < 20; ++i) kept[i] = new Kept;
  for (int i = 0; i < 5; ++i) inside[i] = reinterpret_cast<char*>(new Inside) + 41;
  for (int i = 0; i < 4; ++i) marked[i] = reinterpret_cast<uintptr_t>(new Marked) | 1;
  tree = new std::map<int, Base*>;
  for (int i = 0; i < 8; ++i) (*tree)[i] = new InMap;
  large = static_cast<void**>(calloc(1, 1 << 20));
  for (int i = 0; i < 5; ++i) large[1000 * i] = new InLarge;
  mapping = map_pages();
  for (int i = 0; i < 2; ++i) mapping[50'000 * i] = new InMapping;
  not_forked = map_pages();
  CHECK(madvise(not_forked, 1 << 20, MADV_DONTFORK) == 0);
  not_forked[1000] = new NotForked;
  shared = map_pages(MAP_SHARED);
  shared[100'000] = new Shared;
}

// What functions before have left on the stack.
ALONE static void wipe() {
  char bytes[64 << 10];
  memset(bytes, 0, sizeof bytes);
  use(bytes);
}

// Far below all that is called later.
ALONE static void lose_on_the_stack() {
  void* volatile words[16 << 10];
  words[10] = new OnOldStack;
  use(words[10]);
}

// Of two neighbours one is lost, the other known: so is the address behind the first.
struct Before : Base {
  char more[2048 - sizeof(Base)] = {};
};
static Before* volatile behind;
ALONE static void lose_beside_a_known_one() {
  Before* made[64];
  for (Before*& one : made) one = new Before;
  for (Before*& one : made) {
    Before** const next = std::find(made, made + 64, one + 1);
    if (one == nullptr || behind != nullptr || next == made + 64) continue;
    behind = std::exchange(*next, nullptr);
    one = nullptr;
  }
  for (Before* const one : made) delete one;
}

// Of two neighbours one is lost, the other free again.
ALONE static void lose_behind_old_addresses() {
  PastEnd* made[64];
  for (PastEnd*& one : made) one = new PastEnd;
  int count = 0;
  for (PastEnd*& one : made) {
    if (one == nullptr || count == 5) continue;
    PastEnd** const next = std::find(made, made + 64, one + 1);
    if (next == made + 64) continue;
    one = nullptr;
    ends[count++] = *next;
    delete std::exchange(*next, nullptr);
  }
  for (PastEnd* const one : made) delete one;
}

static void stay() {
  sigset_t set;
  CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
  for (int signal;;) CHECK(sigwait(&set, &signal) == 0);
}

static bool main_has_ended() {
  char text[200] = "";
  const int file = open("/proc/self/stat", O_RDONLY);
  CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0 && close(file) == 0);
  return strstr(text, ") Z ") != nullptr;
}

static void* lose_at_end(void*) {
  mine[9] = new InEnded;
  CHECK(pthread_setspecific(keys[0], new InEnded) == 0);
  return nullptr;
}

// Whose stack, which also has its variables, is too large to be kept for the next one.
static void lose_with_a_thread() {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 64 << 20) == 0);
  CHECK(pthread_create(&thread, &attributes, lose_at_end, nullptr) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
}

static void* hold(void*) {
  for (const pthread_key_t key : keys) CHECK(pthread_setspecific(key, new InKey) == 0);
  void* volatile held[3];
  for (void* volatile& one : held) one = new OnStack;
  for (int i = 0; i < 4; ++i) mine[i] = new InThread;
  ++ready;
  stay();
  return held[0];
}

int main(int argc, char**) {
  sigset_t set;
  CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  for (pthread_key_t& key : keys) CHECK(pthread_key_create(&key, nullptr) == 0);
  lose();
  lose_beside_a_known_one();
  lose_behind_old_addresses();
  keep();
  lose_with_a_thread();
  wipe();
  lose_on_the_stack();
  if (argc == 1) return 0;
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, hold, nullptr) == 0);
  while (ready == 0) std::this_thread::yield();
  char line[32];
  const int length = snprintf(line, sizeof line, "ready %d\n", getpid());
  if (argc == 3) {
    std::thread([=] {
      while (!main_has_ended()) std::this_thread::yield();
      CHECK(write(1, line, static_cast<size_t>(length)) == length);
    }).detach();
    pthread_exit(nullptr);
  }
  CHECK(write(1, line, static_cast<size_t>(length)) == length);
  stay();
}

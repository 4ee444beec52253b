// SPDX-License-Identifier: MIT
// What a program does all day with objects of one size, in two threads: it allocates them, writes
// to their first and last bytes, and frees what the other thread allocated.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

// The compiler knows nothing of what comes out of here, so it warns of no error and removes none.
template <class Pointer>
[[gnu::noinline]] Pointer hidden(Pointer p) {
  asm volatile("" : "+r"(p)::"memory");
  return p;
}

inline size_t size;

// As an owner does: the first and the last bytes of all that was asked for.
inline char* used(void* p) {
  if (p == nullptr) _exit(4);
  const size_t some = std::min<size_t>(size, 16);
  memset(p, 'x', some);
  memset(static_cast<char*>(p) + size - some, 'y', some);
  return hidden(static_cast<char*>(p));
}

// A thread that does one thing after another for the main thread.
class Worker {
 public:
  void start() {
    sem_init(&wanted_, 0, 0);
    sem_init(&done_, 0, 0);
    if (pthread_create(&thread_, nullptr, run, this) != 0) _exit(5);
  }
  void does(void (*task)(char*), char* object) {
    task_ = task;
    object_ = object;
    sem_post(&wanted_);
    while (sem_wait(&done_) != 0) continue;
  }
  void ends() {
    task_ = nullptr;
    sem_post(&wanted_);
    pthread_join(thread_, nullptr);
  }

 private:
  static void* run(void* self) {
    Worker& worker = *static_cast<Worker*>(self);
    for (;;) {
      while (sem_wait(&worker.wanted_) != 0) continue;
      if (worker.task_ == nullptr) return nullptr;
      worker.task_(worker.object_);
      sem_post(&worker.done_);
    }
  }

  pthread_t thread_;
  sem_t wanted_, done_;
  void (*task_)(char*) = nullptr;
  char* object_ = nullptr;
};
inline Worker worker;

inline void frees(char* p) { free(hidden(p)); }

inline constexpr size_t kMostLive = 2000;
inline char* working[kMostLive];
inline size_t live_count() { return std::clamp<size_t>((16 << 20) / (size + 1), 16, kMostLive); }

inline void allocates_all(char*) {
  for (size_t i = 0; i < live_count(); ++i) working[i] = used(malloc(size));
}
inline void frees_every_other(char*) {
  for (size_t i = 0; i < live_count(); i += 2) free(working[i]);
}
inline void frees_the_others() {
  for (size_t i = 1; i < live_count(); i += 2) free(working[i]);
}

// What one thread allocates, both free.
inline void work() {
  for (int round = 0; round < 4; ++round) {
    if (round % 2 == 0) {
      allocates_all(nullptr);
      worker.does(frees_every_other, nullptr);
    } else {
      worker.does(allocates_all, nullptr);
      frees_every_other(nullptr);
    }
    frees_the_others();
  }
}

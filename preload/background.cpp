// SPDX-License-Identifier: MIT
#include "preload/background.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "preload/options.h"
#include "preload/process.h"
#include "sizeclass/memory.h"

namespace pktmalloc {
namespace {

constexpr uint64_t kWorthAThread = uint64_t{32} << 20;  // bytes of classes
constexpr uint64_t kWorthATick = uint64_t{64} << 10;    // bytes that wait
constexpr size_t kStackBytes = size_t{128} << 10;  // our need is 4 KiB; static TLS lies in it too

constinit Mutex mutex{LockRank::kBackground};
constinit std::atomic<bool> settled = false;  // it runs, or never will
constinit std::atomic<uint32_t> parked = 0;   // futex word: 1 while asleep without a timeout

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit std::atomic<Create> create = nullptr;

void futex(int operation, uint32_t value, const timespec* timeout) {
  syscall(SYS_futex, &parked, operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

void wake() {
  if (parked.load(std::memory_order_seq_cst) == 0) return;
  // Partner: the store of 1 in run(). One of several wakers makes the call.
  if (parked.exchange(0, std::memory_order_acq_rel) == 1) futex(FUTEX_WAKE, 1, nullptr);
}

void* run(void*) {
  prctl(PR_SET_NAME, "pktmalloc");
  for (;;) {
    if (heap.age() < kWorthATick) {
      parked.store(1, std::memory_order_seq_cst);
      // Somebody may have seen 0 just before and not have woken us: look once more.
      if (heap.waiting_bytes() < kWorthATick) {
        while (parked.load(std::memory_order_acquire) == 1) futex(FUTEX_WAIT, 1, nullptr);
      }
      parked.store(0, std::memory_order_relaxed);
    }
    const uint64_t ms = heap.ageing().tick_ms();
    const timespec tick{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1000000};
    nanosleep(&tick, nullptr);
  }
  return nullptr;
}

bool wanted() {
  switch (options().background) {
    case Switch::kOff:
      return false;
    case Switch::kOn:
      return true;
    case Switch::kAuto:
      return heap.threads_alive() > 1 && memory::committed_bytes() > kWorthAThread;
  }
  return false;
}

bool start() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started =
      create.load(std::memory_order_relaxed)(&thread, &attributes, run, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

Mutex& background_mutex() { return mutex; }

void background_allow() {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc == nullptr) return;
  create.store(reinterpret_cast<Create>(dlsym(libc, "pthread_create")), std::memory_order_relaxed);
  dlclose(libc);
}

void background_consider() {
  if (settled.load(std::memory_order_relaxed) || !wanted()) return;
  if (create.load(std::memory_order_relaxed) == nullptr) return;
  // What pthread_create allocates comes back here and finds the lock taken.
  if (!mutex.try_lock()) return;
  if (!settled.load(std::memory_order_relaxed)) {
    const int saved_errno = errno;
    settled.store(true, std::memory_order_relaxed);  // also when it fails: no second try
    if (start()) heap.ageing().use_background(wake);
    errno = saved_errno;
  }
  mutex.unlock();
}

void background_forget() {
  heap.ageing().use_background(nullptr);
  parked.store(0, std::memory_order_relaxed);
  settled.store(false, std::memory_order_relaxed);
}

}  // namespace pktmalloc

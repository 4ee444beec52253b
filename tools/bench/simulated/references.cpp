// SPDX-License-Identifier: MIT
// To be compiled without instrumentation. The functions' names and parameters are the compiler's,
// see its tsan/ folder; only those are here that the engine needs, and the linker names what is
// missing.
#include "tools/bench/simulated/references.h"

#include <pthread.h>

namespace simulated {
namespace {

struct Range {
  std::uint64_t begin = 0, bytes = 0;
  bool holds(std::uint64_t address) const { return address - begin < bytes; }
};

Coherence* coherence;
Range stack, heap_words;
Part part = Part::kNobody;
unsigned processor;
Counts counted;

void refer(const volatile void* place, std::size_t bytes, bool writes) {
  const auto address = reinterpret_cast<std::uint64_t>(place);
  if (part == Part::kNobody || bytes == 0 || stack.holds(address)) return;
  Crossings& crossings = part == Part::kProgram      ? counted.program
                         : heap_words.holds(address) ? counted.heap
                                                     : counted.elsewhere;
  const std::uint64_t last = (address + bytes - 1) >> kLineShift;
  for (std::uint64_t line = address >> kLineShift; line <= last; ++line)
    coherence->reference(line, processor, writes, crossings);
}

}  // namespace

void begin_to_watch(Coherence& whose, const void* heap, std::size_t bytes) {
  coherence = &whose;
  heap_words = {reinterpret_cast<std::uint64_t>(heap), bytes};
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  stack = {reinterpret_cast<std::uint64_t>(lowest), size};
}

Acting::Acting(Part whose, unsigned on) {
  part = whose;
  processor = on;
}
Acting::~Acting() { part = Part::kNobody; }

Counts& counts() { return counted; }

}  // namespace simulated

using simulated::refer;

extern "C" {

// The linker sends the engine's calls here (--wrap): libc announces nothing.
int __real_pthread_mutex_lock(pthread_mutex_t*);
int __real_pthread_mutex_trylock(pthread_mutex_t*);
int __real_pthread_mutex_unlock(pthread_mutex_t*);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  refer(mutex, sizeof *mutex, true);
  return __real_pthread_mutex_lock(mutex);
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  refer(mutex, sizeof *mutex, true);
  return __real_pthread_mutex_trylock(mutex);
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  refer(mutex, sizeof *mutex, true);
  return __real_pthread_mutex_unlock(mutex);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_atomic_signal_fence(int) {}

#define REFERENCE(bytes)                                               \
  void __tsan_read##bytes(void* place) { refer(place, bytes, false); } \
  void __tsan_write##bytes(void* place) { refer(place, bytes, true); }
REFERENCE(1)
REFERENCE(2)
REFERENCE(4)
REFERENCE(8)
REFERENCE(16)
void __tsan_read_range(void* place, std::size_t bytes) { refer(place, bytes, false); }
void __tsan_write_range(void* place, std::size_t bytes) { refer(place, bytes, true); }
void __tsan_vptr_update(void** place, void*) { refer(place, sizeof *place, true); }

#define CHANGE(bits, what, result)                                                             \
  word##bits __tsan_atomic##bits##_##what(volatile word##bits* place, word##bits value, int) { \
    refer(place, bits / 8, true);                                                              \
    const word##bits old = *place;                                                             \
    *place = static_cast<word##bits>(result);                                                  \
    return old;                                                                                \
  }
#define ATOMIC(bits)                                                                              \
  using word##bits = std::uint##bits##_t;                                                         \
  word##bits __tsan_atomic##bits##_load(const volatile word##bits* place, int) {                  \
    refer(place, bits / 8, false);                                                                \
    return *place;                                                                                \
  }                                                                                               \
  void __tsan_atomic##bits##_store(volatile word##bits* place, word##bits value, int) {           \
    refer(place, bits / 8, true);                                                                 \
    *place = value;                                                                               \
  }                                                                                               \
  CHANGE(bits, fetch_add, old + value)                                                            \
  CHANGE(bits, fetch_or, old | value)                                                             \
  CHANGE(bits, exchange, value)                                                                   \
  word##bits __tsan_atomic##bits##_fetch_sub(volatile word##bits* place, word##bits value,        \
                                             int order) {                                         \
    return __tsan_atomic##bits##_fetch_add(place, static_cast<word##bits>(0 - value), order);     \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_weak(                                                \
      volatile word##bits* place, word##bits* expected, word##bits value, int, int) {             \
    refer(place, bits / 8, true);                                                                 \
    const word##bits old = *place;                                                                \
    if (old == *expected) {                                                                       \
      *place = value;                                                                             \
      return 1;                                                                                   \
    }                                                                                             \
    *expected = old;                                                                              \
    return 0;                                                                                     \
  }                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_strong(                                              \
      volatile word##bits* place, word##bits* expected, word##bits value, int order, int other) { \
    return __tsan_atomic##bits##_compare_exchange_weak(place, expected, value, order, other);     \
  }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

// The clock stands: what the engine does by time would come anywhere.
int __wrap_clock_gettime(clockid_t, timespec* now) {
  *now = {1, 0};
  return 0;
}

}  // extern "C"

// SPDX-License-Identifier: MIT
// Every function that allocates, resizes or frees, in random order, on threads that hand objects to
// each other: contents, alignments, usable sizes and errno are as they must be.
//
//     random_calls_of_all_functions [ROUNDS [SEED]]
//
// A round starts its threads anew. Of a large object it writes only some bytes, so the others are
// what earlier owners left there, headers and canaries of a library that checks included.
#include <malloc.h>
#include <stdlib.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "random.h"

extern "C" {
void free_sized(void*, size_t) __attribute__((weak));
void free_aligned_sized(void*, size_t, size_t) __attribute__((weak));
}

namespace {

constexpr unsigned kThreads = 8;
constexpr size_t kObjects = 100, kShared = 100, kCalls = 4000;
volatile size_t too_many = SIZE_MAX / 2;
constexpr size_t kWhole = 8192;  // bytes of the largest that is written wholly

enum class Kind { kMalloc, kAligned, kNew, kNewArray, kAlignedNew };

struct Object {
  unsigned char* p = nullptr;
  size_t bytes = 0;
  size_t alignment = 0;  // asked for; 0: none was
  Kind kind = Kind::kMalloc;
  unsigned seed = 0;

  template <typename Visit>
  void each_written(Visit visit) const {
    const size_t step = bytes > kWhole ? bytes / 257 : 1;
    for (size_t i = 0; i < bytes; i += step) visit(p[i], static_cast<unsigned char>(seed + i));
    if (bytes > 0) visit(p[bytes - 1], static_cast<unsigned char>(seed + bytes - 1));
  }
  void write() const {
    each_written([](unsigned char& byte, unsigned char value) { byte = value; });
  }
  void check() const {
    each_written([](unsigned char byte, unsigned char value) { CHECK(byte == value); });
  }
};

std::mutex mutex;
std::vector<Object> shared;  // guarded by mutex

class Caller {
 public:
  explicit Caller(uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15 | 1) {}

  void run() {
    for (size_t i = 0; i < kCalls; ++i) {
      Object& object = objects_[any(kObjects)];
      if (object.p == nullptr) {
        allocate(object);
      } else if (one_in(2)) {
        release(object);
      } else if (one_in(4)) {
        exchange(object);
      } else if (object.kind == Kind::kMalloc || object.kind == Kind::kAligned) {
        resize(object);
      }
      if (one_in(10000)) malloc_trim(0);
    }
    for (Object& object : objects_) {
      if (object.p != nullptr) release(object);
    }
  }

 private:
  uint64_t any(uint64_t below) { return next_random(&random_) % below; }
  bool one_in(uint64_t n) { return any(n) == 0; }
  size_t any_alignment(unsigned powers) { return size_t{16} << any(powers); }

  size_t any_size() {
    const uint64_t kind = any(16);
    return kind == 0  ? any(3 << 20)
           : kind < 3 ? any(300'000)
           : kind < 6 ? any(20'000)
           : kind < 7 ? any(3)
                      : any(600);
  }

  void allocate(Object& object) {
    object = Object{};
    object.bytes = any_size();
    object.seed = static_cast<unsigned>(any(256));
    void* p = take(object);
    CHECK(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % std::max<size_t>(object.alignment, 16) == 0);
    CHECK(malloc_usable_size(p) >= object.bytes);
    object.p = static_cast<unsigned char*>(p);
    object.write();
  }

  void* take(Object& object) {
    switch (any(9)) {
      case 0: {
        void* const p = calloc(object.bytes, 1);
        for (size_t i = 0; i < object.bytes; ++i) CHECK(static_cast<char*>(p)[i] == 0);
        return p;
      }
      case 1:
        object.kind = Kind::kAligned;
        object.alignment = any_alignment(10);
        object.bytes += -object.bytes & (object.alignment - 1);
        return aligned_alloc(object.alignment, object.bytes);
      case 2: {
        object.kind = Kind::kAligned;
        object.alignment = any_alignment(13);
        void* p = nullptr;
        CHECK(posix_memalign(&p, object.alignment, object.bytes) == 0);
        return p;
      }
      case 3:
        object.kind = Kind::kAligned;
        return memalign(object.alignment = 64, object.bytes);
      case 4:
        object.kind = Kind::kNew;
        return ::operator new(object.bytes);
      case 5:
        object.kind = Kind::kNewArray;
        return ::operator new[](object.bytes, std::nothrow);
      case 6:
        object.kind = Kind::kAlignedNew;
        object.alignment = any_alignment(9);
        return ::operator new (object.bytes, std::align_val_t{object.alignment});
      default:
        return malloc(object.bytes);
    }
  }

  void release(Object& object) {
    object.check();
    errno = 77;
    const auto alignment = std::align_val_t{object.alignment};
    const bool sized = one_in(2);
    switch (object.kind) {
      case Kind::kMalloc:
        if (sized && free_sized != nullptr) {
          free_sized(object.p, object.bytes);
        } else {
          free(object.p);
        }
        break;
      case Kind::kAligned:
        if (sized && free_aligned_sized != nullptr) {
          free_aligned_sized(object.p, object.alignment, object.bytes);
        } else {
          free(object.p);
        }
        break;
      case Kind::kNew:
        sized ? ::operator delete(object.p, object.bytes) : ::operator delete(object.p);
        break;
      case Kind::kNewArray:
        ::operator delete[](object.p);
        break;
      case Kind::kAlignedNew:
        sized ? ::operator delete(object.p, object.bytes, alignment)
              : ::operator delete(object.p, alignment);
        break;
    }
    CHECK(errno == 77);
    object.p = nullptr;
  }

  void resize(Object& object) {
    object.check();
    if (one_in(8)) CHECK(reallocarray(object.p, too_many, 3) == nullptr);
    const size_t bytes = one_in(3) ? object.bytes / 2 + 1 : any_size() + 1;
    const size_t kept = std::min(bytes, object.bytes);
    void* const p = one_in(2) ? realloc(object.p, bytes) : reallocarray(object.p, bytes, 1);
    CHECK(p != nullptr);
    object.p = static_cast<unsigned char*>(p);
    if (object.bytes <= kWhole) {
      object.bytes = kept;
      object.check();
    }
    object.bytes = bytes;
    object.alignment = 0;  // what realloc returns was not asked for with one
    object.kind = Kind::kMalloc;
    object.write();
  }

  void exchange(Object& object) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (shared.size() < kShared) {
      shared.push_back(std::exchange(object, Object{}));
    } else {
      std::swap(object, shared[any(kShared)]);
    }
  }

  uint64_t random_;
  Object objects_[kObjects];
};

uint64_t argument(int argc, char** argv, int n, uint64_t otherwise) {
  return argc > n ? strtoull(argv[n], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t rounds = argument(argc, argv, 1, 1), seed = argument(argc, argv, 2, 1);
  for (uint64_t round = 0; round < rounds; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([=] { Caller((seed + round) * kThreads + i).run(); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const Object& object : shared) object.check();
  return 0;
}

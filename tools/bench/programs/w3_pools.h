// SPDX-License-Identifier: MIT
// W3: hand-written pools, as a program's authors would put below operator new of a class.
//
// All have take(bytes) and give(object, bytes); pools of one size ignore the bytes. Their objects
// are aligned to 8 bytes. None gives memory back to the system, and only LockingPool may be used by
// more than one thread. All are constant-initialized, so that a class may use one at any time.
#pragma once

#include <cstdint>
#include <mutex>
#include <new>

namespace w3 {

constexpr std::size_t kGrowth = 32;  // objects

// Free objects, linked through themselves.
class FreeObjects {
 public:
  bool empty() const { return head_ == nullptr; }
  void push(void* object) { head_ = new (object) Link{head_}; }
  void* pop() {
    void* object = head_;
    head_ = head_->next;
    return object;
  }

  // Objects of this size from new memory, to be popped in the order of their addresses.
  void grow(std::size_t object_bytes) {
    char* chunk = static_cast<char*>(::operator new(kGrowth* object_bytes));
    for (std::size_t i = kGrowth; i > 0; --i) push(chunk + (i - 1) * object_bytes);
  }

 private:
  struct Link {
    Link* next;
  };
  Link* head_ = nullptr;
};

template <typename T>
class TemplatePool {
  static_assert(sizeof(T) % sizeof(void*) == 0);

 public:
  void* take(std::size_t) {
    if (free_.empty()) free_.grow(sizeof(T));
    return free_.pop();
  }
  void give(void* object, std::size_t) { free_.push(object); }

 private:
  FreeObjects free_;
};

// One size, a multiple of 8, that is known when the program runs.
class PlainPool {
 public:
  constexpr explicit PlainPool(std::size_t object_bytes) : object_bytes_(object_bytes) {}

  void* take(std::size_t) {
    if (free_.empty()) free_.grow(object_bytes_);
    return free_.pop();
  }
  void give(void* object, std::size_t) { free_.push(object); }

 private:
  std::size_t object_bytes_;
  FreeObjects free_;
};

// All sizes, without a header on the object: it lies in a chunk that is aligned to its own size and
// counts its live objects. A chunk hands out its memory from front to back; the last give makes it
// new again. When the current one is full, another takes over; what fits none goes to operator new.
class VariablePool {
 public:
  void* take(std::size_t bytes) {
    bytes = (bytes + 7) / 8 * 8;
    if (bytes > sizeof current_->bytes) return ::operator new(bytes);
    if (current_ == nullptr || bytes > sizeof current_->bytes - current_->used) replace_current();
    void* object = current_->bytes + current_->used;
    current_->used += bytes;
    ++current_->live;
    return object;
  }

  void give(void* object, std::size_t bytes) {
    if (bytes > sizeof current_->bytes) return ::operator delete(object);
    std::uintptr_t address = reinterpret_cast<std::uintptr_t>(object);
    Chunk* chunk = reinterpret_cast<Chunk*>(address & ~(kChunkBytes - 1));
    if (--chunk->live > 0) return;
    chunk->used = 0;
    if (chunk == current_) return;
    chunk->next = unused_;
    unused_ = chunk;
  }

 private:
  static constexpr std::uintptr_t kChunkBytes = 4096;
  struct alignas(kChunkBytes) Chunk {
    Chunk* next = nullptr;
    std::size_t used = 0;  // bytes
    std::size_t live = 0;  // objects
    char bytes[kChunkBytes - 3 * sizeof(std::size_t)];
  };

  void replace_current() {
    current_ = unused_;
    if (current_ == nullptr) {
      current_ = new Chunk;
    } else {
      unused_ = unused_->next;
    }
  }

  Chunk* current_ = nullptr;
  Chunk* unused_ = nullptr;  // chunks without live objects
};

template <typename Pool>
class LockingPool {
 public:
  void* take(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    return pool_.take(bytes);
  }
  void give(void* object, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    pool_.give(object, bytes);
  }

 private:
  std::mutex mutex_;
  Pool pool_;
};

// The size of its objects and its own are constants: it has its memory from the start, cannot grow,
// and throws when it is exhausted.
template <std::size_t ObjectBytes, std::size_t Objects>
class ConstantPool {
  static_assert(ObjectBytes % sizeof(void*) == 0);

 public:
  void* take(std::size_t) {
    if (!free_.empty()) return free_.pop();
    if (used_ == Objects) throw std::bad_alloc();
    return objects_[used_++];
  }
  void give(void* object, std::size_t) { free_.push(object); }

 private:
  FreeObjects free_;
  std::size_t used_ = 0;  // objects that were ever taken
  alignas(void*) char objects_[Objects][ObjectBytes] = {};
};

}  // namespace w3

// SPDX-License-Identifier: MIT
// W4: the pools that w4_exchange can be run with, of objects of 64 bytes.
//
// A pool is a type with two static functions, allocate and release, that any thread may call. A
// thread that ends leaves its free objects to the others. Until the process ends no pool gives
// memory back, but pmr, to malloc, what a thread had when it ended.
#pragma once

#include <atomic>
#include <boost/pool/pool_alloc.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <utility>
#include <vector>

#include "preload/contract/pktmalloc.hpp"
#include "sizeclass/base/machine.h"

namespace pools {

constexpr std::size_t kObjectBytes = 64;

struct Malloc {
  static void* allocate() { return std::malloc(kObjectBytes); }
  static void release(void* object) { std::free(object); }
};

struct Header {
  static void* allocate() { return pktmalloc::allocate<kObjectBytes>(); }
  static void release(void* object) { pktmalloc::release<kObjectBytes>(object); }
};

// A free list of the study's pool, and the four global pools that threads exchange whole lists
// with.
namespace lists {

constexpr std::size_t kListObjects = 1024;  // a block of 64 KiB is one list
constexpr std::size_t kGlobalPools = 4;

struct alignas(kObjectBytes) Object {
  Object* next;
  Object* next_list;   // both only in the first object of a list
  std::size_t length;  // that lies in a global pool
};
static_assert(sizeof(Object) == kObjectBytes);

struct List {
  Object* first = nullptr;
  std::size_t length = 0;
};

class Spinlock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire))
      while (locked_.load(std::memory_order_relaxed)) pktmalloc::machine::pause();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_ = false;
};

// A spinlock guards the lists, a mutex the blocks that new lists are cut from.
class alignas(64) GlobalPool {
 public:
  // An empty list when there is none.
  List take() {
    std::lock_guard guard(lists_lock_);
    if (lists_ == nullptr) return {};
    Object* first = std::exchange(lists_, lists_->next_list);
    return {first, first->length};
  }

  void give(List list) {
    if (list.first == nullptr) return;
    list.first->length = list.length;
    std::lock_guard guard(lists_lock_);
    list.first->next_list = std::exchange(lists_, list.first);
  }

  List cut_block() {
    auto block = std::make_unique_for_overwrite<Object[]>(kListObjects);
    Object* first = block.get();
    for (std::size_t i = 0; i < kListObjects; ++i)
      first[i].next = i + 1 < kListObjects ? &first[i + 1] : nullptr;
    std::lock_guard guard(blocks_mutex_);
    blocks_.push_back(std::move(block));
    return {first, kListObjects};
  }

 private:
  Spinlock lists_lock_;
  Object* lists_ = nullptr;
  std::mutex blocks_mutex_;
  std::vector<std::unique_ptr<Object[]>> blocks_;
};

}  // namespace lists

// The pool of the study: a thread takes from and returns to a free list of its own, and exchanges
// whole lists with its global pool; the other three are asked before a new block is cut. A second
// list spares a thread at the edge an exchange at every call.
class HandWritten {
 public:
  static void* allocate() {
    if (current_.first == nullptr) [[unlikely]]
      refill();
    lists::Object* object = current_.first;
    current_.first = object->next;
    --current_.length;
    return object;
  }

  static void release(void* memory) {
    if (current_.length == lists::kListObjects) [[unlikely]]
      make_room();
    lists::Object* object = static_cast<lists::Object*>(memory);
    object->next = current_.first;
    current_.first = object;
    ++current_.length;
  }

 private:
  // Made when a thread first needs its global pool; at the end of the thread its lists go there.
  struct Membership {
    std::size_t index = members_.fetch_add(1);
    ~Membership() {
      global(index).give(take_all(current_));
      global(index).give(take_all(spare_));
    }
  };

  static std::size_t own_index() {
    thread_local Membership membership;
    return membership.index;
  }

  static lists::GlobalPool& global(std::size_t index) {
    return globals_[index % lists::kGlobalPools];
  }

  static lists::List take_all(lists::List& list) { return std::exchange(list, lists::List()); }

  static void refill() {
    std::size_t own = own_index();
    current_ = take_all(spare_);
    for (std::size_t i = 0; i < lists::kGlobalPools && current_.first == nullptr; ++i)
      current_ = global(own + i).take();
    if (current_.first == nullptr) current_ = global(own).cut_block();
  }

  static void make_room() {
    global(own_index()).give(spare_);
    spare_ = take_all(current_);
  }

  static inline lists::GlobalPool globals_[lists::kGlobalPools];
  static inline std::atomic<std::size_t> members_ = 0;
  // A new thread's list is empty and full at once, so that either call makes it a member.
  static inline constinit thread_local lists::List current_{nullptr, lists::kListObjects};
  static inline constinit thread_local lists::List spare_{};
};

// A stand-in for brpc's ObjectPool, which no package registry has: a thread-local array of pointers
// that is merged into a global list by copying when it is full, and copied back when it is empty.
class BrpcStandIn {
 public:
  static void* allocate() {
    if (local_.length == 0) [[unlikely]]
      refill();
    return local_.objects[--local_.length];
  }

  static void release(void* object) {
    if (local_.length == kArrayObjects) [[unlikely]]
      merge();
    local_.objects[local_.length++] = object;
  }

 private:
  static constexpr std::size_t kArrayObjects = 256;  // brpc's, for objects of 64 bytes

  struct Array {
    std::size_t length;
    void* objects[kArrayObjects];
  };
  struct Block {
    alignas(kObjectBytes) std::byte objects[kArrayObjects][kObjectBytes];
  };
  struct Membership {
    ~Membership() {
      if (local_.length > 0) merge();
    }
  };

  static void refill() {
    thread_local Membership membership;
    std::lock_guard guard(mutex_);
    if (arrays_.empty()) {
      blocks_.push_back(std::make_unique_for_overwrite<Block>());
      for (std::byte(&object)[kObjectBytes] : blocks_.back()->objects)
        local_.objects[local_.length++] = object;
      return;
    }
    copy(*arrays_.back(), local_);
    arrays_.pop_back();
  }

  static void merge() {
    auto array = std::make_unique_for_overwrite<Array>();
    copy(local_, *array);
    local_.length = 0;
    std::lock_guard guard(mutex_);
    arrays_.push_back(std::move(array));
  }

  static void copy(const Array& from, Array& to) {
    to.length = from.length;
    std::memcpy(to.objects, from.objects, from.length * sizeof(void*));
  }

  static inline std::mutex mutex_;
  static inline std::vector<std::unique_ptr<Array>> arrays_;
  static inline std::vector<std::unique_ptr<Block>> blocks_;
  static inline constinit thread_local Array local_{};
};

// One free list for all threads, behind a mutex.
class BoostFastPool {
 public:
  static void* allocate() { return Allocator::allocate(); }
  static void release(void* object) { Allocator::deallocate(static_cast<Object*>(object)); }

 private:
  struct alignas(16) Object {
    std::byte bytes[kObjectBytes];
  };
  using Allocator = boost::fast_pool_allocator<Object>;
};

class Pmr {
 public:
  static void* allocate() { return resource_->allocate(kObjectBytes); }
  static void release(void* object) { resource_->deallocate(object, kObjectBytes); }

 private:
  static inline std::pmr::synchronized_pool_resource synchronized_;
  static inline std::pmr::memory_resource* resource_ = &synchronized_;
};

}  // namespace pools

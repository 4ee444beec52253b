// SPDX-License-Identifier: MIT
// W2: the three queues that carry closures from the producers to the one consumer.
//
// All have post, called by any producer, and run_ready, called by the consumer alone: it runs and
// destroys what is there, perhaps nothing, and tells how many that were. Each is made with room for
// every closure that may ever be in flight, so that its own growth is no part of a measurement and
// what is allocated meanwhile are the closures.
#pragma once

#include <concurrentqueue/concurrentqueue.h>
#include <boost/lockfree/queue.hpp>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace w2 {

using Closure = std::function<void()>;

// A vector behind a mutex, which the consumer swaps for an empty one.
class MutexQueue {
 public:
  // Constructing and clearing the elements touches the memory, reserve would not.
  MutexQueue(std::size_t capacity, std::size_t) : posted_(capacity), batch_(capacity) {
    posted_.clear();
    batch_.clear();
  }

  void post(Closure closure) {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(closure));
  }

  std::size_t run_ready() {
    {
      std::lock_guard lock(mutex_);
      posted_.swap(batch_);
    }
    for (Closure& closure : batch_) closure();
    std::size_t ran = batch_.size();
    batch_.clear();
    return ran;
  }

 private:
  std::mutex mutex_;
  std::vector<Closure> posted_;
  std::vector<Closure> batch_;  // the consumer's
};

// boost::lockfree::queue holds trivial types only, so it is given pointers: the std::function is a
// second object that the producer allocates and the consumer frees. The queue's nodes, one cache
// line each, are allocated beforehand one by one and come back to its own free list.
class BoostQueue {
 public:
  BoostQueue(std::size_t capacity, std::size_t) : queue_(capacity) {}

  void post(Closure closure) { queue_.push(new Closure(std::move(closure))); }

  std::size_t run_ready() {
    return queue_.consume_all([](Closure* closure) {
      (*closure)();
      delete closure;
    });
  }

 private:
  boost::lockfree::queue<Closure*> queue_;
};

// moodycamel::ConcurrentQueue, used without tokens. Its blocks of 32 closures are allocated
// beforehand; the index over its blocks, which every producer has, is not: it doubles a few times.
class MoodycamelQueue {
 public:
  MoodycamelQueue(std::size_t capacity, std::size_t producers) : queue_(capacity, 0, producers) {}

  void post(Closure closure) { queue_.enqueue(std::move(closure)); }

  std::size_t run_ready() {
    std::size_t ran = 0;
    for (Closure closure; queue_.try_dequeue(closure); closure = nullptr) {
      closure();
      ++ran;
    }
    return ran;
  }

 private:
  moodycamel::ConcurrentQueue<Closure> queue_;
};

}  // namespace w2

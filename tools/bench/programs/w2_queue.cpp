// SPDX-License-Identifier: MIT
// W2: closures through a queue to an event loop. Many producers, one consumer.
//
// `w2_queue [PRODUCERS [CLOSURES]]`: every producer posts CLOSURES functions to one consumer, which
// runs and destroys them. A closure holds 48 bytes, more than std::function keeps inside itself, so
// it is allocated by its producer and freed by the consumer: every free is of another thread's
// object. The queue is a vector behind a mutex, which the consumer swaps for an empty one; when
// there is nothing it looks again 50 us later, as an event loop that is called at intervals would.
// A consumer that polls without waiting fights for the mutex the harder the faster its frees are,
// and wake-ups make the times scatter twofold. "ms" is the whole time, from the common start until
// the last closure ran. Both vectors get their full capacity beforehand, so that their growth is
// not part of it.
#include <array>
#include <chrono>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

using Closure = std::function<void()>;

constexpr std::chrono::microseconds kWait(50);

class ClosureQueue {
 public:
  explicit ClosureQueue(std::size_t capacity) : closures_(capacity) { closures_.clear(); }

  void post(Closure closure) {
    std::lock_guard lock(mutex_);
    closures_.push_back(std::move(closure));
  }

  // Swaps all closures, perhaps none, for the empty batch.
  void swap_all(std::vector<Closure>& batch) {
    std::lock_guard lock(mutex_);
    closures_.swap(batch);
  }

 private:
  std::mutex mutex_;
  std::vector<Closure> closures_;
};

void produce(ClosureQueue& queue, std::size_t closures, std::size_t& sum) {
  for (std::size_t i = 0; i < closures; ++i) {
    std::array<std::size_t, 5> values = {i, i, i, i, 1};
    auto closure = [&sum, values] { sum += values[4]; };
    static_assert(sizeof closure == 48);
    queue.post(closure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w2_queue [PRODUCERS [CLOSURES]]";
  std::size_t producers = workload::argument(argc, argv, 1, 1, usage);
  std::size_t closures = workload::argument(argc, argv, 2, 1'000'000, usage);
  std::size_t total = producers * closures;

  ClosureQueue queue(total);
  std::vector<Closure> batch(total);
  batch.clear();
  std::size_t sum = 0;  // changed by the consumer alone
  std::latch start(static_cast<std::ptrdiff_t>(producers) + 1);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < producers; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      produce(queue, closures, sum);
    });
  }

  start.arrive_and_wait();
  workload::Stopwatch stopwatch;
  for (std::size_t done = 0; done < total;) {
    queue.swap_all(batch);
    if (batch.empty()) std::this_thread::sleep_for(kWait);
    for (Closure& closure : batch) closure();
    done += batch.size();
    batch.clear();
  }
  double ms = stopwatch.elapsed_ms();

  for (std::thread& thread : threads) thread.join();
  if (sum != total) {
    std::fprintf(stderr, "%zu closures ran, %zu were posted\n", sum, total);
    return 1;
  }
  workload::print_json(argc, argv, {{"ms", ms}});
}

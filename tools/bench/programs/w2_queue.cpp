// SPDX-License-Identifier: MIT
// W2: closures through a queue to an event loop. Many producers, one consumer.
//
// `w2_queue [--queue mutex|boost|moodycamel] [PRODUCERS [CLOSURES]]`: every producer posts CLOSURES
// functions to one consumer, which runs and destroys them. A closure holds 48 bytes, more than
// std::function keeps inside itself, so it is allocated by its producer and freed by the consumer:
// every free is of another thread's object. "ms" is the whole time, from the common start until the
// last closure ran; "cpu_ns_per_closure" is what all threads worked in that time, by closure.
// Nothing holds producers back; closures pile up when the consumer is slower.
//   mutex       a vector behind std::mutex, swapped by the consumer; the default
//   boost       boost::lockfree::queue of pointers to std::function, so two objects a closure
//   moodycamel  moodycamel::ConcurrentQueue of std::function
// A consumer that finds nothing looks again 50 us later, as an event loop that is called at
// intervals would. One that polls without waiting fights for the mutex the harder the faster its
// frees are, and wake-ups make the times scatter twofold.
#include <array>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "w2_queues.h"
#include "workload.h"

namespace {

constexpr std::chrono::microseconds kWait(50);

template <typename Queue>
void produce(Queue& queue, std::size_t closures, std::size_t& sum) {
  for (std::size_t i = 0; i < closures; ++i) {
    std::array<std::size_t, 5> values = {i, i, i, i, 1};
    auto closure = [&sum, values] { sum += values[4]; };
    static_assert(sizeof closure == 48);
    queue.post(closure);
  }
}

struct Times {
  double ms, cpu_ms;
};

// Ends the program when closures were lost.
template <typename Queue>
Times measure(std::size_t producers, std::size_t closures) {
  std::size_t total = producers * closures;
  Queue queue(total, producers);
  std::size_t sum = 0;  // changed by the consumer alone
  workload::StartingLine start(producers);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < producers; ++i) {
    threads.emplace_back([&] {
      start.wait();
      produce(queue, closures, sum);
    });
  }

  workload::Stopwatch stopwatch = start.release();
  for (std::size_t done = 0; done < total;) {
    std::size_t ran = queue.run_ready();
    if (ran == 0) std::this_thread::sleep_for(kWait);
    done += ran;
  }
  Times times{stopwatch.elapsed_ms(), stopwatch.cpu_ms()};

  for (std::thread& thread : threads) thread.join();
  if (sum != total) workload::fail("%zu closures ran, %zu were posted", sum, total);
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w2_queue [--queue mutex|boost|moodycamel] [PRODUCERS [CLOSURES]]";
  bool chosen = argc > 2 && argv[1] == std::string_view("--queue");
  std::string_view queue = chosen ? argv[2] : "mutex";
  int first = chosen ? 3 : 1;
  std::size_t producers = workload::argument(argc, argv, first, 1, usage);
  std::size_t closures = workload::argument(argc, argv, first + 1, 1'000'000, usage);

  Times times{};
  if (queue == "mutex") {
    times = measure<w2::MutexQueue>(producers, closures);
  } else if (queue == "boost") {
    times = measure<w2::BoostQueue>(producers, closures);
  } else if (queue == "moodycamel") {
    times = measure<w2::MoodycamelQueue>(producers, closures);
  } else {
    workload::usage(usage);
  }
  double total = static_cast<double>(producers * closures);
  workload::print_json(argc, argv,
                       {{"ms", times.ms}, {"cpu_ns_per_closure", 1e6 * times.cpu_ms / total}});
}

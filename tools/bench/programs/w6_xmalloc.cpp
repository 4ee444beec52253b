// SPDX-License-Identifier: MIT
// W6 xmalloc-test: threads that only allocate and threads that only free, after Lever and Boreham.
//
// `w6_xmalloc [ALLOCATORS [FREERS [BATCHES]]]`: the allocators make BATCHES batches of 1,000
// objects between them, the freers free them. A batch is itself an object of 8,000 bytes. An object
// has one of ten sizes from 64 to 2,048 bytes, evenly drawn, and its number in its first word; the
// freers add these up, and the sum must be that of the allocators. At most 16 batches wait, so that
// memory stays bounded when allocators are ahead. "ms" is the whole time.
#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr std::array<std::size_t, 10> kSizes = {64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048};
constexpr std::size_t kWaiting = 16;

using Batch = std::array<std::size_t*, 1'000>;

class BatchQueue {
 public:
  void put(std::unique_ptr<Batch> batch) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return batches_.size() < kWaiting; });
    batches_.push_back(std::move(batch));
    lock.unlock();
    has_batch_.notify_one();
  }

  // Null when the queue is closed and there will be none.
  std::unique_ptr<Batch> take() {
    std::unique_lock lock(mutex_);
    has_batch_.wait(lock, [this] { return is_closed_ || !batches_.empty(); });
    if (batches_.empty()) return nullptr;
    std::unique_ptr<Batch> batch = std::move(batches_.back());
    batches_.pop_back();
    lock.unlock();
    has_room_.notify_one();
    return batch;
  }

  void close() {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
    has_batch_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_room_, has_batch_;
  std::vector<std::unique_ptr<Batch>> batches_;
  bool is_closed_ = false;
};

class Exchange {
 public:
  void allocate(std::size_t batches, std::size_t seed) {
    workload::Random random(seed);
    std::size_t number = seed << 32, sum = 0;
    for (; batches > 0; --batches) {
      std::unique_ptr<Batch> batch(new Batch);
      for (std::size_t*& object : *batch) {
        object = static_cast<std::size_t*>(std::malloc(kSizes[random.below(kSizes.size())]));
        *object = ++number;
        sum += number;
      }
      queue_.put(std::move(batch));
    }
    allocated_ += sum;
  }

  void free_all() {
    std::size_t sum = 0;
    while (std::unique_ptr<Batch> batch = queue_.take()) {
      for (std::size_t* object : *batch) {
        sum += *object;
        std::free(object);
      }
    }
    freed_ += sum;
  }

  void close() { queue_.close(); }
  std::size_t allocated() const { return allocated_; }
  std::size_t freed() const { return freed_; }

 private:
  BatchQueue queue_;
  std::atomic<std::size_t> allocated_ = 0, freed_ = 0;  // sums of numbers
};

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_xmalloc [ALLOCATORS [FREERS [BATCHES]]]";
  std::size_t allocators = workload::argument(argc, argv, 1, 2, usage);
  std::size_t freers = workload::argument(argc, argv, 2, 2, usage);
  std::size_t batches = workload::argument(argc, argv, 3, 6'000, usage);

  Exchange exchange;
  workload::Stopwatch stopwatch;
  std::vector<std::thread> allocating, freeing;
  for (std::size_t i = 0; i < freers; ++i) freeing.emplace_back([&] { exchange.free_all(); });
  for (std::size_t i = 0; i < allocators; ++i) {
    std::size_t share = batches * (i + 1) / allocators - batches * i / allocators;
    allocating.emplace_back([&exchange, share, i] { exchange.allocate(share, i); });
  }
  for (std::thread& thread : allocating) thread.join();
  exchange.close();
  for (std::thread& thread : freeing) thread.join();
  double ms = stopwatch.elapsed_ms();

  if (exchange.freed() != exchange.allocated())
    workload::fail("sum of the freed objects is %zu, of the allocated ones %zu", exchange.freed(),
                   exchange.allocated());
  workload::print_json(argc, argv, {{"ms", ms}});
}

// SPDX-License-Identifier: MIT
// W6 rptest: batches of objects, freed in random order, some by other threads; after the benchmark
// of rpmalloc. T threads.
//
// `w6_rptest [THREADS [LOOPS [PLACES [SMALLEST [LARGEST]]]]]`: every thread has PLACES places for
// objects, in shuffled order. A loop has 50 steps; a step frees the objects in 100 places that
// follow each other in that order, then fills 100 others, freeing what is there. Every tenth step
// also makes a parcel of 100 objects for the next thread's mailbox; if an older parcel still lies
// there the sender frees that. At the end of a loop a thread frees all that it holds, and its mail.
// Sizes are SMALLEST to LARGEST bytes, rounded up to whole words, skewed: by the third power of a
// uniform number, so that half are in the lowest eighth. First and last word of an object tell its
// size and its number; they are checked before it is freed, and as many bytes must be freed as were
// allocated. "ms" is the whole time of all threads.
#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kBatch = 100, kSteps = 50, kStepsOfParcel = 10;

struct Parcel {
  std::array<std::uint64_t*, kBatch> objects;
};

struct alignas(64) Mailbox {
  std::atomic<Parcel*> parcel = nullptr;
};

struct Tally {
  std::size_t allocated = 0, freed = 0, damaged = 0;  // bytes, bytes, objects
};

// A thread's objects. Aligned, so that threads share no cache line whatever the allocator does.
class alignas(64) Correspondent {
 public:
  Correspondent(std::size_t places, std::uint32_t smallest, std::uint32_t largest, std::size_t seed)
      : smallest_(smallest),
        range_(largest - smallest + 1),
        random_(seed),
        objects_(places),
        order_(places) {
    std::iota(order_.begin(), order_.end(), 0);
    for (std::size_t i = places - 1; i > 0; --i) std::swap(order_[i], order_[random_below(i + 1)]);
  }

  void loop(Mailbox& own, Mailbox& next) {
    for (std::size_t step = 0; step < kSteps; ++step) {
      for_batch([this](std::uint64_t*& object) { release(object); });
      for_batch([this](std::uint64_t*& object) {
        release(object);
        object = allocate();
      });
      if (step % kStepsOfParcel == 0) exchange(next, make_parcel());
    }
    for (std::size_t place : order_) release(objects_[place]);
    exchange(own, nullptr);
  }

  // Frees what lies in the mailbox, after the parcel has been put there.
  void exchange(Mailbox& mailbox, Parcel* parcel) {
    Parcel* found = mailbox.parcel.exchange(parcel, std::memory_order_acq_rel);
    if (found == nullptr) return;
    for (std::uint64_t*& object : found->objects) release(object);
    delete found;
  }

  const Tally& tally() const { return tally_; }

 private:
  std::size_t random_below(std::size_t limit) {
    return random_.below(static_cast<std::uint32_t>(limit));
  }

  std::uint64_t* allocate() {
    constexpr std::uint64_t kOne = 1 << 16;
    std::uint64_t uniform = random_.below(kOne);
    std::uint64_t cube = uniform * uniform * uniform >> 16;  // below 2^32
    std::uint64_t words = (smallest_ + (cube * range_ >> 32) + 7) / 8;
    std::uint64_t* object = static_cast<std::uint64_t*>(std::malloc(words * 8));
    std::uint32_t number = static_cast<std::uint32_t>(tally_.allocated);
    object[0] = object[words - 1] = words << 32 | number;
    tally_.allocated += words * 8;
    return object;
  }

  void release(std::uint64_t*& object) {
    if (object == nullptr) return;
    std::uint64_t words = object[0] >> 32;
    tally_.damaged += object[words - 1] != object[0];
    tally_.freed += words * 8;
    std::free(object);
    object = nullptr;
  }

  template <typename Act>
  void for_batch(Act act) {
    std::size_t start = random_below(order_.size());
    for (std::size_t i = 0; i < kBatch; ++i) act(objects_[order_[(start + i) % order_.size()]]);
  }

  Parcel* make_parcel() {
    Parcel* parcel = new Parcel;
    for (std::uint64_t*& object : parcel->objects) object = allocate();
    return parcel;
  }

  std::uint64_t smallest_, range_;
  workload::Random random_;
  std::vector<std::uint64_t*> objects_;
  std::vector<std::size_t> order_;
  Tally tally_;
};

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_rptest [THREADS [LOOPS [PLACES [SMALLEST [LARGEST]]]]]";
  std::size_t threads = workload::argument(argc, argv, 1, 2, usage);
  std::size_t loops = workload::argument(argc, argv, 2, 400, usage);
  std::size_t places = workload::argument(argc, argv, 3, 1'000, usage);
  std::size_t smallest = workload::argument(argc, argv, 4, 8, usage);
  std::size_t largest = workload::argument(argc, argv, 5, 16'000, usage);
  if (largest < smallest || largest >> 32 != 0) workload::usage(usage);

  std::vector<Mailbox> mailboxes(threads);
  std::vector<Correspondent> correspondents;
  for (std::size_t i = 0; i < threads; ++i)
    correspondents.emplace_back(places, static_cast<std::uint32_t>(smallest),
                                static_cast<std::uint32_t>(largest), i);
  workload::StartingLine start(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.wait();
      for (std::size_t loop = 0; loop < loops; ++loop)
        correspondents[i].loop(mailboxes[i], mailboxes[(i + 1) % threads]);
    });
  }

  workload::Stopwatch stopwatch = start.release();
  for (std::thread& thread : running) thread.join();
  for (std::size_t i = 0; i < threads; ++i) correspondents[i].exchange(mailboxes[i], nullptr);
  double ms = stopwatch.elapsed_ms();

  Tally total;
  for (const Correspondent& correspondent : correspondents) {
    total.allocated += correspondent.tally().allocated;
    total.freed += correspondent.tally().freed;
    total.damaged += correspondent.tally().damaged;
  }
  if (total.damaged > 0 || total.freed != total.allocated)
    workload::fail("%zu bytes allocated, %zu freed, %zu objects damaged", total.allocated,
                   total.freed, total.damaged);
  workload::print_json(argc, argv, {{"ms", ms}});
}

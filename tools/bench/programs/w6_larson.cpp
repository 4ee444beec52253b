// SPDX-License-Identifier: MIT
// W6 larson: a server whose threads come and go, after Larson and Krishnan. T lines of threads.
//
// `w6_larson [--ms MS] [THREADS [SLOTS [SMALLEST [LARGEST [REPLACEMENTS]]]]]`: every line owns a
// table of SLOTS objects of SMALLEST to LARGEST bytes; its thread frees the object in a random slot
// and puts one of another random size there, REPLACEMENTS times over all lines. After 50,000 of its
// own a thread starts a successor, leaves it the table and ends, so that many objects are freed by
// another thread than allocated them. An object's first and last byte tell its size; they are
// checked before it is freed. With --ms the lines go on for so long, as in the original, and
// REPLACEMENTS does not count; a thread that has begun does all of its 50,000.
//   ms                   the whole time, filling and emptying the tables included
//   ns_per_replacement   that time divided by the replacements of all lines
#include <algorithm>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kReplacementsOfThread = 50'000;
constexpr std::size_t kThreadsOfMs = 4;  // a line has at most; a replacement takes more than 5 ns

struct Sizes {
  std::uint32_t smallest, largest;
};

class Slot {
 public:
  void fill(std::uint32_t size) {
    size_ = size;
    bytes_.reset(new unsigned char[size]);
    bytes_[0] = bytes_[size - 1] = static_cast<unsigned char>(size);
  }

  // Returns whether the object was as fill left it.
  bool empty() {
    unsigned char mark = static_cast<unsigned char>(size_);
    bool intact = bytes_[0] == mark && bytes_[size_ - 1] == mark;
    bytes_.reset();
    return intact;
  }

 private:
  std::uint32_t size_ = 0;
  std::unique_ptr<unsigned char[]> bytes_;
};

// How long a line goes on: until it has done its replacements, or until it is late.
struct Plan {
  std::size_t replacements;
  double ms;  // 0: for any time
};

// A table and the threads that own it one after the other. Aligned, so that lines share no cache
// line whatever the allocator does.
class alignas(64) Line {
 public:
  Line(std::size_t slots, Sizes sizes, Plan plan, std::size_t seed)
      : table_(slots),
        sizes_(sizes),
        plan_(plan),
        threads_((plan.replacements + kReplacementsOfThread - 1) / kReplacementsOfThread),
        random_(seed) {}

  void start() {
    threads_[0] = std::thread([this] {
      for (Slot& slot : table_) slot.fill(random_size());
      replace(0);
    });
  }

  // Waits for the last thread and returns how many objects were not intact. Each thread has stored
  // its successor by the time it can be joined.
  std::size_t finish() {
    for (std::thread& thread : threads_) {
      if (!thread.joinable()) break;
      thread.join();
    }
    for (Slot& slot : table_) damaged_ += !slot.empty();
    return damaged_;
  }

  std::size_t done() const { return done_; }

 private:
  std::uint32_t random_size() {
    return sizes_.smallest + random_.below(sizes_.largest - sizes_.smallest + 1);
  }

  void replace(std::size_t generation) {
    std::size_t count = std::min(plan_.replacements - done_, kReplacementsOfThread);
    done_ += count;
    for (; count > 0; --count) {
      Slot& slot = table_[random_.below(static_cast<std::uint32_t>(table_.size()))];
      damaged_ += !slot.empty();
      slot.fill(random_size());
    }
    bool is_late = plan_.ms > 0 && stopwatch_.elapsed_ms() >= plan_.ms;
    if (done_ < plan_.replacements && !is_late)
      threads_[generation + 1] = std::thread([this, generation] { replace(generation + 1); });
  }

  std::vector<Slot> table_;
  const Sizes sizes_;
  const Plan plan_;
  const workload::Stopwatch stopwatch_;
  std::vector<std::thread> threads_;
  workload::Random random_;
  std::size_t done_ = 0;  // replacements
  std::size_t damaged_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_larson [--ms MS] [THREADS [SLOTS [SMALLEST [LARGEST [REPLACEMENTS]]]]]";
  bool is_timed = argc > 2 && std::string_view(argv[1]) == "--ms";
  int first = is_timed ? 3 : 1;
  std::size_t limit_ms = is_timed ? workload::argument(argc, argv, 2, 0, usage) : 0;
  std::size_t threads = workload::argument(argc, argv, first, 4, usage);
  std::size_t slots = workload::argument(argc, argv, first + 1, 1'000, usage);
  std::size_t smallest = workload::argument(argc, argv, first + 2, 8, usage);
  std::size_t largest = workload::argument(argc, argv, first + 3, 1'000, usage);
  std::size_t replacements = workload::argument(argc, argv, first + 4, 20'000'000, usage);
  if (largest < smallest || replacements < threads) workload::usage(usage);
  Sizes sizes{static_cast<std::uint32_t>(smallest), static_cast<std::uint32_t>(largest)};
  Plan plan{is_timed ? limit_ms * kThreadsOfMs * kReplacementsOfThread : replacements / threads,
            static_cast<double>(limit_ms)};

  workload::Stopwatch stopwatch;
  std::vector<std::unique_ptr<Line>> lines;
  for (std::size_t i = 0; i < threads; ++i)
    lines.push_back(std::make_unique<Line>(slots, sizes, plan, i));
  for (auto& line : lines) line->start();
  std::size_t damaged = 0, done = 0;
  for (auto& line : lines) {
    damaged += line->finish();
    done += line->done();
  }
  double ms = stopwatch.elapsed_ms();

  if (damaged > 0) workload::fail("%zu objects had lost their marks", damaged);
  double ns = 1e6 * ms / static_cast<double>(done);
  workload::print_json(argc, argv, {{"ms", ms}, {"ns_per_replacement", ns}});
}

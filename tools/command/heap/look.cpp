// SPDX-License-Identifier: MIT
#include "tools/command/heap/look.h"

#include <chrono>
#include <thread>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

using Clock = std::chrono::steady_clock;

// Threads are seldom amid a change of their lists, and then for a few microseconds.
constexpr unsigned kTries = 20;

double copy_running(RemoteHeap& heap) {
  const auto start = Clock::now();
  heap.copy(true);
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The first copy has to get memory from the system; the second one shows how long it really takes.
Look run_on(RemoteHeap& heap) {
  Look look;
  copy_running(heap);
  const uint64_t before = heap.allocated();
  look.milliseconds = copy_running(heap);
  look.meanwhile = heap.allocated() - before;
  return look;
}

}  // namespace

std::string Look::text() const {
  if (!stopped && !core) {
    return fmt::format(
        "it ran on for the {} of copying and allocated {} objects, by which counts may be off",
        duration_text(milliseconds), count_text(meanwhile));
  }
  std::string text = core ? "a core file" : "it stood still for " + duration_text(milliseconds);
  if (amid_change) {
    text += "; a thread was amid a change, so a few hundred free objects may count as live";
  }
  if (not_stopped > 0) text += fmt::format("; {} threads did not stand still", not_stopped);
  return text;
}

Look look_at(RemoteHeap& heap, pid_t pid, double most_ms, const Also& also) {
  Look look;
  if (most_ms != kAsLongAsItTakes) look = run_on(heap);
  if (look.milliseconds <= most_ms) {
    double milliseconds = 0;
    for (unsigned tries = 1;; ++tries) {
      bool copied = false;
      StandingProcess process(pid);
      copied = heap.copy(false);
      look.amid_change = !copied && tries == kTries;
      if (look.amid_change) copied = heap.copy(true);
      if (copied && also) also(process);
      look.not_stopped = process.not_stopped();
      milliseconds = std::max(milliseconds, process.let_go());
      if (copied) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    look.stopped = true;
    look.milliseconds = milliseconds;
    look.meanwhile = 0;
  }
  heap.find_live();
  return look;
}

}  // namespace pktmalloc

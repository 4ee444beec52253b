// SPDX-License-Identifier: MIT
// Opens the window (formats/live_window.h) at load.

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "preload/base/export.h"
#include "preload/base/options.h"
#include "preload/base/this_library.h"
#include "preload/contract/pktmalloc.h"
#include "preload/formats/live_window.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/recording/profile.h"

// Aligned so that it lies before the heap, with what else is written at start, in one page.
alignas(4096) PKTMALLOC_EXPORT constinit pktmalloc::Window pktmalloc_window{};

namespace pktmalloc {
namespace {

EVERY_PROCESS void load() {
  Window& w = pktmalloc_window;
  w.schema = kWindowSchema;
  w.bytes = sizeof w;
  strncpy(w.version, PKTMALLOC_VERSION, sizeof w.version - 1);
  strncpy(w.program, program_name(), sizeof w.program - 1);
  w.library = kThisLibrary;
  w.pid = static_cast<uint32_t>(getpid());
  w.passed = reinterpret_cast<uint64_t>(passed_counts);
  w.forks = reinterpret_cast<uint64_t>(&fork_count());
  w.profile = profile_window();
  if (heap.started()) w.heap = heap.window();
  // Partner: none in the process; a reader that copies from the front and sees the magic sees the
  // rest too.
  std::atomic_ref(w.magic).store(kWindowMagic, std::memory_order_release);
}

}  // namespace

constinit const Part window_part{.load = load};

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// Subject: a process with the library whose heap is looked at: one that runs, or in a core file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/command/heap/heap_copy.h"
#include "tools/command/heap/look.h"
#include "tools/command/heap/sampled_objects.h"
#include "tools/command/live/live.h"
#include "tools/command/system/core_file.h"

namespace pktmalloc {

class Subject {
 public:
  // A process id or a file. Throws Failure when it cannot be looked at. `opened`: see LiveProcess.
  explicit Subject(const std::string& what, const std::function<void()>& opened = nullptr);

  const Image& image() const;
  const Window& window() const { return window_; }
  pid_t pid() const;
  bool is_core() const { return core_ != nullptr; }

  // See look_at(); a core file stands still anyway.
  Look look(RemoteHeap& heap, double most_ms) const;
  // The same, for as long as it takes; and finds the roots and samples and copies what is in the
  // slabs, as they were at that moment. Where all memory can be copied for that, the process goes
  // on meanwhile, unless it waits anyway.
  struct Whole {
    std::vector<uint64_t> roots;
    std::unique_ptr<HeapCopy> copy;
    SampledObjects sampled;
  };
  Look look_whole(RemoteHeap& heap, Whole& whole, bool waits) const;
  // Throws Failure when it has ended or become another program, so that what was read may be
  // nonsense.
  void check_alive() const;

 private:
  Look look_at_core(RemoteHeap& heap) const;

  std::unique_ptr<LiveProcess> process_;
  std::unique_ptr<CoreFile> core_;
  Window window_{};
};

}  // namespace pktmalloc

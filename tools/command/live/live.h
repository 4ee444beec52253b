// SPDX-License-Identifier: MIT
// LiveProcess: the statistics of a running process, read from outside through its Window
// (preload/formats/live_window.h).
//
// The process is not stopped and executes nothing for it. It works meanwhile, so each number is
// right by itself and sums may be off by what is under way; they are exact while it is idle. What
// makes no sense because it changed in between counts as nothing.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tools/command/failure.h"
#include "tools/command/live/live_window.h"
#include "tools/command/reading.h"
#include "tools/command/system/image.h"

namespace pktmalloc {

class LiveProcess {
 public:
  // Throws Failure: the process is gone, may not be read, has no library or one that has not
  // started or has another schema.
  // `opened`: is called when all is open that needs the right to look into the process, and before
  // anything is read that the process has made; this process may give up rights then.
  explicit LiveProcess(pid_t pid, const std::function<void()>& opened = nullptr);
  ~LiveProcess();
  LiveProcess(const LiveProcess&) = delete;
  LiveProcess& operator=(const LiveProcess&) = delete;

  pid_t pid() const { return pid_; }
  LibraryKind library() const { return window_.library; }
  const Window& window() const { return window_; }
  const Image& image() const { return image_; }
  // All but resident_bytes. Throws Failure when the process ended or became another program.
  Reading read() const;
  // Bytes of the classes' slabs that are in memory: a walk over all pages, a millisecond a GiB.
  uint64_t resident_bytes() const;
  // Of the whole process; 0 when it ended.
  uint64_t rss_bytes() const;
  uint64_t page_faults() const;  // since its start
  bool ended() const;
  // Throws Failure when it has ended or become another program.
  void check_alive() const;
  // Into its memory.
  void write_byte(uint64_t address, char byte) const;
  // Becomes readable when the process ends; -1 on systems without such descriptors.
  int end_descriptor() const { return end_; }

 private:
  Window load_window() const;
  const RemoteMemory& memory() const { return image_.memory(); }

  pid_t pid_;
  int end_;
  pid_t thread_;  // one that lives
  RunningImage image_;
  uint64_t address_ = 0;
  Window window_{};
};

// The processes of this user that have the library, without this one. Where one has it and cannot
// be read, the reason is added to `refusals`.
std::vector<std::unique_ptr<LiveProcess>> live_processes(std::vector<std::string>& refusals);

}  // namespace pktmalloc

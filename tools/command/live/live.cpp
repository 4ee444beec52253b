// SPDX-License-Identifier: MIT
#include "tools/command/live/live.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>

#include "tools/command/live/live_counters.h"

namespace pktmalloc {
namespace {

std::string text(const char* from, size_t most) { return std::string(from, strnlen(from, most)); }

}  // namespace

LiveProcess::LiveProcess(pid_t pid, const std::function<void()>& opened)
    : pid_(pid),
      end_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      thread_(Process(pid).thread()),
      image_(pid, thread_) {
  try {
    if (opened) {
      image_.keep_open();
      opened();
    }
    window_ = find_and_load_window(image_, address_);
  } catch (const Failure&) {
    // What is told is of the thread that was asked.
    const bool is_over = thread_ != pid_ && ended();
    close(end_);
    if (is_over) throw Failure("process {} has ended", pid_);
    throw;
  }
}

LiveProcess::~LiveProcess() { close(end_); }

bool LiveProcess::ended() const {
  pollfd end{end_, POLLIN, 0};
  return end_ >= 0 && poll(&end, 1, 0) == 1;
}

void LiveProcess::write_byte(uint64_t address, char byte) const {
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(address), 1};
  if (process_vm_writev(thread_, &here, 1, &there, 1, 0) == 1) return;
  throw Failure("process {} may not be written to: {}", pid_, strerror(errno));
}

Window LiveProcess::load_window() const {
  try {
    return pktmalloc::load_window(memory(), address_, image_.name());
  } catch (const Failure&) {
    if (ended()) throw Failure("process {} has ended", pid_);
    throw;
  }
}

void LiveProcess::check_alive() const {
  load_window();
  if (ended()) throw Failure("process {} has ended", pid_);
}

Reading LiveProcess::read() const {
  const Window w = load_window();
  Reading reading;
  reading.program = text(w.program, sizeof w.program);
  reading.version = text(w.version, sizeof w.version);
  reading.pid = pid_;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  reading.time = std::chrono::duration<double>(now).count();
  read_counters(w, memory(), reading.snapshot);
  if (ended()) throw Failure("process {} has ended", pid_);
  return reading;
}

namespace {

uint64_t present_pages(int pagemap, uint64_t first, uint64_t count) {
  uint64_t present = 0;
  while (count > 0) {
    uint64_t entries[8192];  // a word a page, whose highest bit says: present
    const uint64_t bytes = std::min(count, uint64_t{8192}) * sizeof(uint64_t);
    const ssize_t got =
        pread(pagemap, entries, bytes, static_cast<off_t>(first * sizeof(uint64_t)));
    if (got <= 0) break;
    const uint64_t read = static_cast<uint64_t>(got) / sizeof(uint64_t);
    for (uint64_t n = 0; n < read; ++n) present += entries[n] >> 63;
    first += read;
    count -= read;
  }
  return present;
}

}  // namespace

uint64_t LiveProcess::resident_bytes() const {
  const HeapWindow& heap = window_.heap;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const int pages = open(Process(thread_).file("pagemap").c_str(), O_RDONLY | O_CLOEXEC);
  if (pages < 0) return 0;
  constexpr uint64_t kMost = uint64_t{1} << 40;
  uint64_t outside[kMaxClasses];
  uint64_t used = 0;
  const RemoteMemory::Piece pieces[] = {
      {heap.outside, outside, heap.classes * sizeof *outside},
      {heap.pool + offsetof(SlabPool::Counts, used), &used, sizeof used},
  };
  memory().copy_all(pieces);
  uint64_t resident = present_pages(pages, heap.units / page, std::min(used, kMost) / page) * page;
  for (unsigned i = 0; i < heap.classes; ++i) resident += outside[i] * heap.object_bytes[i];
  close(pages);
  return resident;
}

uint64_t LiveProcess::rss_bytes() const {
  std::ifstream statm(Process(thread_).file("statm"));
  uint64_t size = 0;
  uint64_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t LiveProcess::page_faults() const {
  try {
    const Process process(pid_);
    return std::stoull(process.field(Process::kMinorFaults)) +
           std::stoull(process.field(Process::kMajorFaults));
  } catch (const Failure&) {
    return 0;
  }
}

std::vector<std::unique_ptr<LiveProcess>> live_processes(std::vector<std::string>& refusals) {
  std::vector<std::unique_ptr<LiveProcess>> found;
  std::vector<pid_t> pids = readable_processes();
  std::sort(pids.begin(), pids.end());
  for (const pid_t pid : pids) {
    if (pid == getpid()) continue;
    try {
      found.push_back(std::make_unique<LiveProcess>(pid));
    } catch (const Failure& failure) {
      if (maps_library(Process(pid))) refusals.push_back(failure.what());
    }
  }
  return found;
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/live/live.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tools/command/live/live_counters.h"
#include "tools/command/live/live_window.h"
#include "tools/command/system/process.h"

namespace pktmalloc {
namespace {

// Of a schema that we read; nothing in it may lead the reader astray.
bool plausible(const Window& w) {
  const HeapWindow& h = w.heap;
  const Cache::Shape& s = h.cache;
  constexpr uint64_t kWord = sizeof(uint64_t);
  constexpr uint64_t kLargestCache = uint64_t{1} << 16;
  const auto inside = [](uint64_t bytes, uint64_t at, uint64_t whole) {
    return at <= whole && bytes <= whole - at;
  };
  if (w.bytes != sizeof(Window) || h.classes >= kMaxClasses) return false;
  if (h.classes == 0) return true;
  return h.cache_bytes <= kLargestCache && inside(kWord, s.next, h.cache_bytes) &&
         inside(kMaxClasses * kWord, s.tops, h.cache_bytes) &&
         inside(kMaxClasses * kWord, s.allocated, h.cache_bytes) && s.line_bytes <= kLargestCache &&
         inside(kMaxClasses * s.line_bytes, s.lines, h.cache_bytes) &&
         inside(kWord, s.loaded, s.line_bytes) &&
         inside(sizeof(uint32_t), s.previous_rounds, s.line_bytes) &&
         inside(4 * kWord, s.trips, s.line_bytes) &&
         inside(kTallies * kWord, s.tallies, h.cache_bytes);
}

std::string text(const char* from, size_t most) { return std::string(from, strnlen(from, most)); }

// After main()'s thread has ended by pthread_exit the process shows its memory by the others only.
pid_t thread_with_memory(pid_t pid) {
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(Process(pid).file("task"), ignored)) {
    std::ifstream maps(task.path() / "maps");
    if (maps.peek() != std::ifstream::traits_type::eof()) return std::stoi(task.path().filename());
  }
  return pid;
}

}  // namespace

LiveProcess::LiveProcess(pid_t pid)
    : pid_(pid),
      end_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      thread_(thread_with_memory(pid)),
      memory_(pid, thread_) {
  try {
    const WindowPlace place = find_window(Process(thread_), memory_);
    if (!place.library)
      throw Failure("process {} does not use pktmalloc (start it with: pktmalloc run COMMAND)",
                    pid);
    if (place.address == 0) {
      throw Failure("process {} has a pktmalloc that has not started or cannot be read", pid);
    }
    address_ = place.address;
    window_ = load_window();
  } catch (...) {
    close(end_);
    throw;
  }
}

LiveProcess::~LiveProcess() { close(end_); }

bool LiveProcess::ended() const {
  pollfd end{end_, POLLIN, 0};
  return end_ >= 0 && poll(&end, 1, 0) == 1;
}

Window LiveProcess::load_window() const {
  // What tells the schema lies in front, whatever the rest is.
  constexpr size_t kFront = offsetof(Window, program);
  Window w{};
  const RemoteMemory::Piece pieces[] = {
      {address_, &w, kFront},
      {address_ + kFront, w.program, sizeof w - kFront},
  };
  memory_.copy_all(pieces);
  if (ended()) throw Failure("process {} has ended", pid_);
  if (w.magic != kWindowMagic) throw Failure("process {} became another program", pid_);
  if (w.schema != kWindowSchema) {
    throw Failure(
        "process {} has pktmalloc {} with window schema {}; this pktmalloc reads schema {}", pid_,
        text(w.version, sizeof w.version), w.schema, kWindowSchema);
  }
  if (!plausible(w)) throw Failure("the statistics of process {} make no sense", pid_);
  return w;
}

Reading LiveProcess::read() const {
  const Window w = load_window();
  Reading reading;
  reading.program = text(w.program, sizeof w.program);
  reading.version = text(w.version, sizeof w.version);
  reading.pid = pid_;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  reading.time = std::chrono::duration<double>(now).count();
  read_counters(w, memory_, reading.snapshot);
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
  memory_.copy_all(pieces);
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

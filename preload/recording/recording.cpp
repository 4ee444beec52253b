// SPDX-License-Identifier: MIT
#include "preload/recording/recording.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/report_file.h"
#include "preload/contract/pktmalloc.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc {
namespace {

using namespace recording;

constinit std::atomic<uint32_t> taken = 0;  // chunks; and calls for more than there are
ReportPath file;
// Its parent is `pktmalloc run` then, if this process tells where its files are
// (recovery/keeper.h).
bool ends_with_parent = false;

// Makes pages of the mapping usable. A file system may refuse them only when they are touched, and
// that would end the program: so they are touched by a call that reports it.
bool make_usable(void* start, size_t bytes) {
  if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno == EFAULT) errno = ENOSPC;  // what the file system has told the kernel
  const KeepErrno keep;
  mprotect(start, bytes, PROT_NONE);
  return false;
}

// The header in the mapped file; nullptr with errno. Most of it is only addresses until it is used:
// a program may lock all its memory.
Header* map_file(uint32_t& chunks) {
  // What the limits leave room for; beyond that of files a signal would end the program.
  const size_t most = at_most(at_most(kMostChunks * kChunkBytes, RLIMIT_AS), RLIMIT_FSIZE, 1);
  if (most < 2 * kHeaderBytes) return errno = EFBIG, nullptr;
  chunks = static_cast<uint32_t>((most - kHeaderBytes) / kChunkBytes);
  const int fd = file.open_shared();
  if (fd < 0) return nullptr;
  const size_t bytes = kHeaderBytes + chunks * kChunkBytes;
  void* start = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    start = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, fd, 0);
  }
  const bool usable = start != MAP_FAILED && make_usable(start, kHeaderBytes);
  const KeepErrno keep;
  close(fd);
  if (usable) return static_cast<Header*>(start);
  unlink(file.path);
  if (start != MAP_FAILED) munmap(start, bytes);
  return nullptr;
}

EVERY_PROCESS void load() {
  const bool has_reports = options().reports() || options().trace_path != nullptr;
  if (options().recording_path == nullptr || !has_reports) return;
  const KeepErrno keep;
  bool* const alive = map_until_fork();
  if (alive == nullptr || !file.name(options().recording_path, 1)) {
    return message("no recording: %s; what is not written at the end will be lost",
                   error_text(errno));
  }
  uint32_t chunks = 0;
  Header* const header = map_file(chunks);
  if (header == nullptr) {
    return message("cannot record in %s: %s; what is not written at the end will be lost",
                   file.path, errno == EINVAL ? "it needs Linux 5.14" : file.why(errno));
  }
  header->version = kVersion;
  header->bytes = sizeof *header;
  header->chunks = chunks;
  header->pid = getpid();
  strncpy(header->library, PKTMALLOC_VERSION, sizeof header->library - 1);
  strncpy(header->program, program_name(), sizeof header->program - 1);
  prctl(PR_GET_NAME, header->comm);
  int signal = 0;
  ends_with_parent = prctl(PR_GET_PDEATHSIG, &signal) == 0 && signal == SIGKILL;
  memcpy(header->magic, kMagic, sizeof header->magic);
  recording_header = header;
  recording_alive = alive;
  heap.due().tell_always();  // and with them the moments
}

bool is_waited_for() { return ends_with_parent && tells_files(); }

// Behind all parts that report. `pktmalloc run` removes the file itself, so that it sees that there
// was one.
EVERY_PROCESS void at_exit() {
  const Header* const header = recording_here();
  if (header == nullptr || is_waited_for() || Mutex::any_held()) return;
  for (const Report& report : header->reports) {
    if (report.wanted.load() != Wanted::kYes) continue;
    return message("what is missing is written by: pktmalloc recover %s", file.path);
  }
  const KeepErrno keep;
  unlink(file.path);
}

}  // namespace

EVERY_PROCESS void leave_recording() {
  if (recording_header == nullptr || *recording_alive) return;
  const KeepErrno keep;
  const uint32_t chunks = std::min(taken.load(std::memory_order_relaxed), recording_header->chunks);
  static_cast<void>(mmap(recording_header, kHeaderBytes + chunks * kChunkBytes,
                         PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  recording_header = nullptr;
  recording_alive = nullptr;
}

void record_report(Content content, const char* pattern, unsigned number) {
  Header* const header = recording_here();
  if (header == nullptr || pattern == nullptr) return;
  Report& report = header->report(content);
  static ReportPath path;  // one thread: at load, then the one that reports
  if (*pattern != '\0' && !path.name(pattern, number)) return;  // the report itself says so
  strcpy(report.path, *pattern == '\0' ? "" : path.path);
  report.wanted.store(Wanted::kYes, std::memory_order_release);
}

void settle_report(Content content) {
  if (Header* const header = recording_here()) {
    header->report(content).wanted.store(Wanted::kDone, std::memory_order_release);
  }
}

bool recording_is_awaited() {
  struct stat found;
  // Who gave up its user may not see it.
  return recording_here() != nullptr && is_waited_for() &&
         (status_of(file.path, &found) == 0 || errno == EACCES);
}

void* add_chunk(ChunkKind kind, uint32_t number) {
  Header* const header = recording_here();
  if (header == nullptr) return nullptr;
  const KeepErrno keep;
  const uint32_t n = taken.fetch_add(1, std::memory_order_relaxed);
  void* const chunk = reinterpret_cast<char*>(header) + kHeaderBytes + n * kChunkBytes;
  if (n >= header->chunks || !make_usable(chunk, kChunkBytes)) {
    header->refused.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  header->directory[n].number = number;
  header->directory[n].kind.store(kind, std::memory_order_release);
  return chunk;
}

constinit const Part recording_part{.load = load, .exit = at_exit, .forked = leave_recording};

}  // namespace pktmalloc

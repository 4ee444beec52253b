// SPDX-License-Identifier: MIT
#include "tools/command/recovery/recording_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/command/failure.h"
#include "tools/command/system/process.h"

namespace pktmalloc {

using namespace recording;

namespace {

template <size_t kBytes>
std::string text(const char (&from)[kBytes]) {
  return std::string(from, strnlen(from, kBytes));
}

}  // namespace

RecordingFile::RecordingFile(const std::string& path) : path_(path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) throw Failure("cannot read {}: {}", path, strerror(errno));
  std::error_code ignored;
  path_ = std::filesystem::canonical(path, ignored);
  struct stat file {};
  fstat(fd, &file);
  bytes_ = static_cast<size_t>(file.st_size);
  device_ = file.st_dev;
  file_ = file.st_ino;
  void* start = MAP_FAILED;
  if (S_ISREG(file.st_mode) && bytes_ >= kHeaderBytes) {
    start = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (start == MAP_FAILED || memcmp(start, kMagic, sizeof kMagic) != 0) {
    if (start != MAP_FAILED) munmap(start, bytes_);
    throw Failure("{} is not a recording of pktmalloc (PKTMALLOC_RECORDING=FILE writes one)", path);
  }
  header_ = static_cast<Header*>(start);
  const uint32_t version = header_->version;
  const bool sound = header_->bytes == sizeof(Header) && header_->chunks <= kMostChunks &&
                     bytes_ >= kHeaderBytes + header_->chunks * kChunkBytes;
  if (version != kVersion || !sound || file.st_uid != geteuid()) {
    munmap(start, bytes_);
    // It says where to write.
    if (file.st_uid != geteuid()) throw Failure("{} belongs to another user", path);
    if (version == kVersion) throw Failure("the recording {} is damaged", path);
    throw Failure("{} is a recording of version {}; this pktmalloc reads version {}", path, version,
                  kVersion);
  }
  for (uint32_t i = 0; i < header_->chunks; ++i) {
    const auto kind = static_cast<size_t>(header_->directory[i].kind.load());
    const uint32_t number = header_->directory[i].number;
    if (kind == 0 || kind >= std::size(by_number_) || number >= kMostChunks) continue;
    std::vector<const char*>& numbers = by_number_[kind];
    if (numbers.size() <= number) numbers.resize(number + 1);
    numbers[number] = chunk_at(i);
  }
}

RecordingFile::~RecordingFile() { munmap(header_, bytes_); }

std::string RecordingFile::program() const { return text(header_->program); }

std::string RecordingFile::comm() const { return text(header_->comm); }

std::string RecordingFile::library() const { return text(header_->library); }

bool RecordingFile::wanted(Content content) const {
  return header_->report(content).wanted.load() == Wanted::kYes;
}

std::string RecordingFile::report_path(Content content) const {
  return text(header_->report(content).path);
}

bool RecordingFile::in_use() const {
  const Process process(header_->pid);
  // As /proc tells it.
  std::string path = path_;
  for (size_t at = 0; (at = path.find('\n', at)) != std::string::npos;)
    path.replace(at, 1, "\\012");
  try {
    const std::vector<Mapping> mappings = process.mappings();
    return std::any_of(mappings.begin(), mappings.end(),
                       [&](const Mapping& m) { return m.path == path; });
  } catch (const Failure&) {
    return process.has_memory();  // which may not be looked at
  }
}

bool RecordingFile::is_current() const {
  struct stat now {};
  return stat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == file_;
}

const char* RecordingFile::chunk_at(uint32_t i) const {
  return reinterpret_cast<const char*>(header_) + kHeaderBytes + i * kChunkBytes;
}

const char* RecordingFile::chunk(ChunkKind kind, uint32_t number) const {
  const std::vector<const char*>& numbers = by_number_[static_cast<size_t>(kind)];
  return number < numbers.size() ? numbers[number] : nullptr;
}

std::vector<const char*> RecordingFile::chunks(ChunkKind kind) const {
  std::vector<const char*> all;
  for (uint32_t i = 0; i < header_->chunks; ++i) {
    if (header_->directory[i].kind.load() == kind) all.push_back(chunk_at(i));
  }
  return all;
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/system/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

constexpr auto kMachine = EM_X86_64;

}  // namespace

CoreFile::CoreFile(const std::string& path) : path_(path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    const int error = errno;
    throw Failure("{} is neither a process id nor a core file: {}", path, strerror(error));
  }
  size_ = static_cast<size_t>(status.st_size);
  void* const mapped = S_ISREG(status.st_mode) && size_ >= sizeof(Elf64_Ehdr)
                           ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0)
                           : MAP_FAILED;
  close(fd);
  if (mapped == MAP_FAILED) throw Failure("{} is no core file", path);
  bytes_ = static_cast<const char*>(mapped);
  try {
    const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(bytes_);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_CORE) {
      throw Failure("{} is no core file", path);
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
      throw Failure("{} is a core file of another kind of machine", path);
    }
    read_segments(size_);
    read_notes();
    add_left_out();
    name_mappings();
  } catch (...) {
    munmap(mapped, size_);
    throw;
  }
}

CoreFile::~CoreFile() {
  munmap(const_cast<char*>(bytes_), size_);
  for (const auto& [path, fd] : opened_) {
    if (fd >= 0) close(fd);
  }
}

void CoreFile::read_segments(size_t file_bytes) {
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(bytes_);
  const auto inside = [&](uint64_t at, uint64_t bytes) {
    return at <= file_bytes && bytes <= file_bytes - at;
  };
  uint64_t& count = headers_ = header.e_phnum;
  if (count == PN_XNUM && inside(header.e_shoff, sizeof(Elf64_Shdr))) {
    count = reinterpret_cast<const Elf64_Shdr*>(bytes_ + header.e_shoff)->sh_info;
  }
  if (!inside(header.e_phoff, count * sizeof(Elf64_Phdr))) throw Failure("{} is truncated", path_);
  const auto* const segments = reinterpret_cast<const Elf64_Phdr*>(bytes_ + header.e_phoff);
  for (uint64_t i = 0; i < count; ++i) {
    const Elf64_Phdr& s = segments[i];
    if (!inside(s.p_offset, s.p_filesz)) throw Failure("{} is truncated", path_);
    // The upper half of all addresses is the kernel's.
    if (s.p_type != PT_LOAD || s.p_vaddr >> 63 != 0) continue;
    segments_.push_back({s.p_vaddr, s.p_vaddr + s.p_memsz, s.p_filesz, s.p_offset});
    mappings_.push_back({s.p_vaddr, s.p_vaddr + s.p_memsz, 0, (s.p_flags & PF_R) != 0,
                         (s.p_flags & PF_W) != 0, (s.p_flags & PF_X) != 0, ""});
  }
}

void CoreFile::read_notes() {
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(bytes_);
  const auto* const segments = reinterpret_cast<const Elf64_Phdr*>(bytes_ + header.e_phoff);
  for (uint64_t i = 0; i < headers_; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    const char* at = bytes_ + segments[i].p_offset;
    const char* const end = at + segments[i].p_filesz;
    while (static_cast<size_t>(end - at) >= sizeof(Elf64_Nhdr)) {
      const auto& note = *reinterpret_cast<const Elf64_Nhdr*>(at);
      const auto padded = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
      const size_t front = sizeof note + padded(note.n_namesz);
      if (static_cast<size_t>(end - at) < front + padded(note.n_descsz)) break;
      read_note(note.n_type, at + front, note.n_descsz);
      at += front + padded(note.n_descsz);
    }
  }
}

void CoreFile::read_note(uint32_t type, const char* bytes, size_t size) {
  const auto word = [&](size_t n) {
    uint64_t value = 0;
    if ((n + 1) * sizeof value <= size) memcpy(&value, bytes + n * sizeof value, sizeof value);
    return value;
  };
  if (type == NT_PRPSINFO && size >= sizeof(elf_prpsinfo)) {
    memcpy(&pid_, bytes + offsetof(elf_prpsinfo, pr_pid), sizeof pid_);  // perhaps misaligned
  } else if (type == NT_PRSTATUS || type == NT_X86_XSTATE) {
    std::vector<uint64_t> words(size / sizeof(uint64_t));
    memcpy(words.data(), bytes, words.size() * sizeof(uint64_t));
    if (type == NT_PRSTATUS) {
      // General registers come at its end, before a flag.
      words.erase(words.begin(), words.begin() + offsetof(elf_prstatus, pr_reg) / sizeof(uint64_t));
      registers_.push_back(std::move(words));
    } else if (!registers_.empty()) {
      registers_.back().insert(registers_.back().end(), words.begin(), words.end());
    }
  } else if (type == NT_AUXV) {
    for (size_t n = 0; word(n) != AT_NULL; n += 2) {
      if (word(n) == AT_PHDR) headers_at_ = word(n + 1);
      if (word(n) == AT_RANDOM) on_stack_ = word(n + 1);
    }
  } else if (type == NT_FILE) {
    const uint64_t count = word(0), page = word(1);
    if (count > size / 24) return;
    const char* path = bytes + (2 + 3 * count) * sizeof(uint64_t);
    for (uint64_t i = 0; i < count && path < bytes + size; ++i) {
      const size_t length = strnlen(path, static_cast<size_t>(bytes + size - path));
      files_.push_back({word(2 + 3 * i), word(3 + 3 * i), word(4 + 3 * i) * page, true, false, true,
                        std::string(path, length)});
      path += length + 1;
    }
  }
}

// gcore leaves out what it takes for constant: code, or data that may be told from it no more.
void CoreFile::add_left_out() {
  const size_t there = mappings_.size();
  for (const Mapping& file : files_) {
    const auto overlaps = [&](const Mapping& m) {
      return m.start < file.end && file.start < m.end;
    };
    if (std::any_of(mappings_.begin(), mappings_.begin() + there, overlaps)) continue;
    mappings_.push_back(file);
    segments_.push_back({file.start, file.end, 0, 0});
  }
}

void CoreFile::name_mappings() {
  const auto by_address = [](const auto& a, const auto& b) { return a.start < b.start; };
  std::sort(segments_.begin(), segments_.end(), by_address);
  std::sort(mappings_.begin(), mappings_.end(), by_address);
  for (size_t i = 0; i < mappings_.size(); ++i) {
    Mapping& m = mappings_[i];
    for (const Mapping& file : files_) {
      if (m.start < file.start || m.start >= file.end) continue;
      m.path = file.path;
      m.offset = file.offset + (m.start - file.start);
    }
    if (on_stack_ >= m.start && on_stack_ < m.end) m.path = "[stack]";
    if (headers_at_ >= m.start && headers_at_ < m.end) executable_ = m.path;
    if (!m.writable) continue;
    // Its size may be damaged: no more can be searched than is here, or in the file that it maps.
    std::error_code none;
    const uint64_t mapped = std::filesystem::file_size(m.path, none);
    m.end = std::min(m.end, m.start + std::max(segments_[i].bytes, none ? 0 : mapped));
  }
}

size_t CoreFile::copy(std::span<const Piece> pieces) const {
  size_t done = 0;
  while (done < pieces.size() && copy_piece(pieces[done])) ++done;
  return done;
}

bool CoreFile::copy_piece(const Piece& piece) const {
  uint64_t address = piece.address;
  char* to = static_cast<char*>(piece.to);
  for (size_t left = piece.bytes; left > 0;) {
    auto segment = std::upper_bound(
        segments_.begin(), segments_.end(), address,
        [](uint64_t wanted, const Segment& other) { return wanted < other.start; });
    if (segment == segments_.begin() || address >= (--segment)->end) return false;
    const uint64_t at = address - segment->start;
    const bool here = at < segment->bytes;
    const uint64_t end = here ? segment->start + segment->bytes : segment->end;
    const auto bytes = static_cast<size_t>(std::min<uint64_t>(end - address, left));
    if (here) {
      memcpy(to, bytes_ + segment->offset + at, bytes);
    } else if (!copy_from_mapped(*segment, address, to, bytes)) {
      return false;
    }
    address += bytes;
    to += bytes;
    left -= bytes;
  }
  return true;
}

bool CoreFile::copy_from_mapped(const Segment& segment, uint64_t address, char* to,
                                size_t bytes) const {
  const Mapping& m = mappings_[static_cast<size_t>(&segment - segments_.data())];
  if (m.path.empty()) return false;
  const auto [at, added] = opened_.try_emplace(m.path, -1);
  if (added) at->second = open(m.path.c_str(), O_RDONLY | O_CLOEXEC);
  const uint64_t offset = m.offset + (address - m.start);
  return pread(at->second, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

}  // namespace pktmalloc

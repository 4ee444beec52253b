// SPDX-License-Identifier: MIT
#include "tools/command/live/live_window.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "preload/contract/live_window.h"
#include "tools/command/failure.h"
#include "tools/command/system/elf_file.h"

namespace pktmalloc {
namespace {

constexpr const char* kDeleted = " (deleted)";
// Of variables searched; the library has less than one.
constexpr uint64_t kSearchedMost = uint64_t{16} << 20;

// A file as it is mapped: its first mapping has offset `from`, its last one its variables.
struct MappedFile {
  std::string path;
  uint64_t base = 0;                          // where its first byte is or would be
  uint64_t variables = 0, variables_end = 0;  // with those behind the file's end, .bss
};

std::optional<MappedFile> mapped_file(const std::vector<Mapping>& mappings,
                                      const std::string& path) {
  std::optional<MappedFile> file;
  for (const Mapping& m : mappings) {
    if (m.path == path) {
      if (!file) file = MappedFile{path, m.start - m.offset};
      file->variables = m.start;
      file->variables_end = m.end;
    } else if (file && m.path.empty() && m.start == file->variables_end) {
      file->variables_end = m.end;
    }
  }
  return file;
}

bool is_library(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libpktmalloc") && name.find(".so") != std::string::npos;
}

bool has_magic(const RemoteMemory& memory, uint64_t address) {
  return memory.load<uint64_t>(address) == kWindowMagic;
}

uint64_t search(const RemoteMemory& memory, const MappedFile& file) {
  std::vector<uint64_t> words(std::min(file.variables_end - file.variables, kSearchedMost) /
                              sizeof(uint64_t));
  const RemoteMemory::Piece all{file.variables, words.data(), words.size() * sizeof(uint64_t)};
  if (memory.copy({&all, 1}) == 0) return 0;
  const auto found = std::find(words.begin(), words.end(), kWindowMagic);
  if (found == words.end()) return 0;
  return file.variables + static_cast<uint64_t>(found - words.begin()) * sizeof(uint64_t);
}

// What a file on disk tells of the one that is mapped.
struct Symbols {
  bool window = false;
  uint64_t offset = 0;
  bool stripped = false;  // the executable may hold the library, without telling
};

Symbols read_symbols(const std::string& path) {
  Symbols symbols;
  try {
    const ElfFile elf(path);
    if (!elf.is_elf()) return symbols;
    const std::optional<uint64_t> window = elf.symbol("pktmalloc_window");
    symbols.window = window.has_value();
    symbols.offset = window.value_or(0);
    symbols.stripped = !elf.has_interpreter() || elf.symbol("malloc").has_value();
  } catch (const Failure&) {
  }
  return symbols;
}

// Remembered: `top` looks at all processes again and again.
Symbols symbols_of(const std::string& path) {
  static std::map<std::tuple<dev_t, ino_t, time_t>, Symbols> known;
  struct stat file {};
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return {};
  const auto [at, added] = known.try_emplace({file.st_dev, file.st_ino, file.st_mtime});
  if (added) at->second = read_symbols(path);
  return at->second;
}

uint64_t window_in(const RemoteMemory& memory, const MappedFile& file, const Symbols& symbols) {
  if (symbols.window && has_magic(memory, file.base + symbols.offset)) {
    return file.base + symbols.offset;
  }
  return search(memory, file);
}

std::string link_target(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : std::string();
}

}  // namespace

WindowPlace find_window(const Process& process, const RemoteMemory& memory) {
  WindowPlace place{};
  const std::vector<Mapping> mappings = process.mappings();
  std::string seen;
  for (const Mapping& m : mappings) {
    if (m.path == seen || !is_library(m.path)) continue;
    seen = m.path;
    place.library = true;
    const MappedFile file = *mapped_file(mappings, m.path);
    const bool deleted = m.path.ends_with(kDeleted);
    // As the process sees it: it may live in a container.
    const Symbols symbols = deleted ? Symbols{} : symbols_of(process.file("root" + m.path));
    if ((place.address = window_in(memory, file, symbols)) != 0) return place;
  }
  const auto file = mapped_file(mappings, link_target(process.executable()));
  if (!file) return place;
  const Symbols symbols = symbols_of(process.executable());
  if (!symbols.window && !symbols.stripped) return place;
  place.address = window_in(memory, *file, symbols);
  if (symbols.window || place.address != 0) place.library = true;
  return place;
}

bool maps_library(const Process& process) {
  try {
    const std::vector<Mapping> mappings = process.mappings();
    return std::any_of(mappings.begin(), mappings.end(),
                       [](const Mapping& m) { return is_library(m.path); });
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace pktmalloc

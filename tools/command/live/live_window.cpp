// SPDX-License-Identifier: MIT
#include "tools/command/live/live_window.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>

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
    } else if (file && m.path.empty() && m.start == file->variables_end && m.writable) {
      file->variables_end = m.end;  // behind .bss may lie a thread's guard page
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

std::string text(const char* from, size_t most) { return std::string(from, strnlen(from, most)); }

}  // namespace

WindowPlace find_window(const Image& image) {
  WindowPlace place{};
  const RemoteMemory& memory = image.memory();
  const std::vector<Mapping> mappings = image.mappings();
  // A program that holds the library allocates from its own, also where another is preloaded.
  const auto file = mapped_file(mappings, image.executable());
  const Symbols symbols = file ? symbols_of(image.file(file->path).path()) : Symbols{};
  if (symbols.window) {
    place.library = true;
    if ((place.address = window_in(memory, *file, symbols)) != 0) return place;
  }
  std::string seen;
  for (const Mapping& m : mappings) {
    if (m.path == seen || !is_library(m.path)) continue;
    seen = m.path;
    place.library = true;
    const bool deleted = m.path.ends_with(kDeleted);
    const Symbols its = deleted ? Symbols{} : symbols_of(image.file(m.path).path());
    place.address = window_in(memory, *mapped_file(mappings, m.path), its);
    if (place.address != 0) return place;
  }
  if (symbols.stripped && !symbols.window) {
    place.address = window_in(memory, *file, symbols);
    place.library |= place.address != 0;
  }
  return place;
}

Window load_window(const RemoteMemory& memory, uint64_t address, const std::string& name) {
  // What tells the schema lies in front, whatever the rest is.
  constexpr size_t kFront = offsetof(Window, program);
  Window w{};
  const RemoteMemory::Piece pieces[] = {
      {address, &w, kFront},
      {address + kFront, w.program, sizeof w - kFront},
  };
  memory.copy_all(pieces);
  if (w.magic != kWindowMagic) throw Failure("{} became another program", name);
  if (w.schema != kWindowSchema) {
    throw Failure("{} has pktmalloc {} with window schema {}; this pktmalloc reads schema {}", name,
                  text(w.version, sizeof w.version), w.schema, kWindowSchema);
  }
  if (w.bytes != sizeof(Window) || w.heap.classes >= kMaxClasses) {
    throw Failure("the statistics of {} make no sense", name);
  }
  return w;
}

Window find_and_load_window(const Image& image, uint64_t& address) {
  const WindowPlace place = find_window(image);
  if (!place.library) {
    throw Failure("{} does not use pktmalloc (start it with: pktmalloc run COMMAND)", image.name());
  }
  if (place.address == 0) {
    throw Failure("{} has a pktmalloc that has not started or cannot be read", image.name());
  }
  address = place.address;
  return load_window(image.memory(), address, image.name());
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

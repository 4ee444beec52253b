// SPDX-License-Identifier: MIT
#include "preload/stacks/symbol_table.h"

#include "preload/base/newer_libc.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace pktmalloc {
namespace {

// A file in memory. Everything it claims is checked before use.
class ElfFile {
 public:
  explicit ElfFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    struct stat status;
    if (status_of(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        static_cast<size_t>(status.st_size) >= sizeof(Elf64_Ehdr)) {
      bytes_ = static_cast<size_t>(status.st_size);
      start_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0));
      if (start_ == MAP_FAILED) bytes_ = 0;
    }
    close(fd);
  }
  ~ElfFile() {
    if (bytes_ > 0) munmap(start_, bytes_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // The first page has the header, the segments and, as a rule, the build id.
  bool begins_as(const void* header) const {
    constexpr size_t kPage = 4096;
    return bytes_ > 0 && memcmp(start_, header, std::min(bytes_, kPage)) == 0;
  }

  const Elf64_Ehdr& header() const { return *reinterpret_cast<const Elf64_Ehdr*>(start_); }

  // nullptr: not all of them are in the file.
  template <typename T>
  const T* array(uint64_t offset, uint64_t count) const {
    const bool inside = offset <= bytes_ && count <= (bytes_ - offset) / sizeof(T);
    return inside && offset % alignof(T) == 0 ? reinterpret_cast<const T*>(start_ + offset)
                                              : nullptr;
  }

 private:
  char* start_ = nullptr;
  size_t bytes_ = 0;
};

bool is_function_at(const Elf64_Sym& symbol, uint64_t value) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
         value - symbol.st_value < symbol.st_size;
}

}  // namespace

uintptr_t find_in_file(const link_map& module, const void* header_in_memory, uintptr_t address,
                       char* name, size_t bytes) {
  const bool is_program = *module.l_name == '\0';
  const ElfFile file(is_program ? "/proc/self/exe" : module.l_name);
  if (!file.begins_as(header_in_memory)) return 0;
  const Elf64_Ehdr& header = file.header();
  const auto* sections = file.array<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  for (unsigned i = 0; sections != nullptr && i < header.e_shnum; ++i) {
    const Elf64_Shdr& table = sections[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header.e_shnum) continue;
    const uint64_t count = table.sh_size / sizeof(Elf64_Sym);
    const auto* symbols = file.array<Elf64_Sym>(table.sh_offset, count);
    const Elf64_Shdr& strings = sections[table.sh_link];
    const char* text = file.array<char>(strings.sh_offset, strings.sh_size);
    if (symbols == nullptr || text == nullptr) return 0;
    const Elf64_Sym* const symbol =
        std::find_if(symbols, symbols + count, [&](const Elf64_Sym& candidate) {
          return is_function_at(candidate, address - module.l_addr);
        });
    if (symbol == symbols + count || symbol->st_name >= strings.sh_size) return 0;
    const size_t most = std::min(strings.sh_size - symbol->st_name, bytes);
    snprintf(name, bytes, "%.*s", static_cast<int>(most), text + symbol->st_name);
    return symbol->st_value + module.l_addr;
  }
  return 0;
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/system/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

Elf_Scn* section(Elf* elf, Elf64_Word type) {
  for (Elf_Scn* at = elf_nextscn(elf, nullptr); at != nullptr; at = elf_nextscn(elf, at)) {
    GElf_Shdr header;
    if (gelf_getshdr(at, &header) != nullptr && header.sh_type == type) return at;
  }
  return nullptr;
}

Elf_Scn* named_section(Elf* elf, const std::string& name) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* at = elf_nextscn(elf, nullptr); at != nullptr; at = elf_nextscn(elf, at)) {
    GElf_Shdr header;
    if (gelf_getshdr(at, &header) == nullptr) continue;
    const char* const found = elf_strptr(elf, names, header.sh_name);
    if (found != nullptr && name == found) return at;
  }
  return nullptr;
}

// In a symbol table of this type: one that is defined in the file, or one that is not.
std::optional<GElf_Sym> find_symbol(Elf* elf, Elf64_Word type, const std::string& name,
                                    bool defined) {
  Elf_Scn* const table = section(elf, type);
  if (table == nullptr) return std::nullopt;
  GElf_Shdr header;
  gelf_getshdr(table, &header);
  Elf_Data* const data = elf_getdata(table, nullptr);
  GElf_Sym symbol;
  for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
    const char* const found = elf_strptr(elf, header.sh_link, symbol.st_name);
    if ((symbol.st_shndx != SHN_UNDEF) == defined && found != nullptr && name == found) {
      return symbol;
    }
  }
  return std::nullopt;
}

std::vector<std::string> needed_libraries(Elf* elf) {
  std::vector<std::string> names;
  Elf_Scn* const dynamic = section(elf, SHT_DYNAMIC);
  if (dynamic == nullptr) return names;
  GElf_Shdr header;
  gelf_getshdr(dynamic, &header);
  Elf_Data* const data = elf_getdata(dynamic, nullptr);
  GElf_Dyn entry;
  for (int i = 0; gelf_getdyn(data, i, &entry) != nullptr; ++i) {
    if (entry.d_tag != DT_NEEDED) continue;
    if (const char* name = elf_strptr(elf, header.sh_link, entry.d_un.d_val)) {
      names.emplace_back(name);
    }
  }
  return names;
}

}  // namespace

std::string build_id_at(uint64_t address, const RemoteMemory& memory) {
  constexpr uint64_t kMost = 4096;  // bytes of notes
  const auto head = memory.load<Elf64_Ehdr>(address);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return "";
  std::optional<uint64_t> base;  // address 0 of the file
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    const auto segment = memory.load<Elf64_Phdr>(address + head.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD && !base) base = address - segment.p_vaddr + segment.p_offset;
    if (segment.p_type != PT_NOTE || !base) continue;
    std::vector<char> notes(std::min(segment.p_filesz, kMost));
    const RemoteMemory::Piece piece{*base + segment.p_vaddr, notes.data(), notes.size()};
    memory.copy_all({&piece, 1});
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note;
      memcpy(&note, &notes[at], sizeof note);
      const auto padded = [](uint64_t bytes) { return (bytes + 3) / 4 * 4; };
      const size_t id = at + sizeof note + padded(note.n_namesz);
      at = id + padded(note.n_descsz);
      if (note.n_type != NT_GNU_BUILD_ID || at > notes.size()) continue;
      std::string text;
      for (size_t n = id; n < id + note.n_descsz; ++n) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(notes[n]));
      }
      return text;
    }
  }
  return "";
}

ElfFile::ElfFile(const std::string& path) {
  elf_version(EV_CURRENT);
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw Failure("cannot read {}: {}", path, strerror(errno));
  elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
  if (!is_elf()) return;
  size_t count = 0;
  elf_getphdrnum(elf_, &count);
  bool first = true;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type == PT_LOAD && first) {
      first_address_ = segment.p_vaddr - segment.p_offset;
      first = false;
    } else if (segment.p_type == PT_INTERP && segment.p_filesz > 1) {
      interpreter_.resize(segment.p_filesz - 1);
      const ssize_t length = pread(descriptor_, interpreter_.data(), interpreter_.size(),
                                   static_cast<off_t>(segment.p_offset));
      interpreter_.resize(static_cast<size_t>(std::max<ssize_t>(length, 0)));
    }
  }
  needed_ = needed_libraries(elf_);
}

ElfFile::~ElfFile() {
  elf_end(elf_);
  close(descriptor_);
}

bool ElfFile::is_elf() const { return elf_ != nullptr && elf_kind(elf_) == ELF_K_ELF; }

int ElfFile::machine() const {
  GElf_Ehdr header;
  return gelf_getehdr(elf_, &header) != nullptr ? header.e_machine : EM_NONE;
}

int ElfFile::word_class() const { return gelf_getclass(elf_); }

std::optional<uint64_t> ElfFile::symbol(const std::string& name) const {
  for (const Elf64_Word type : {SHT_DYNSYM, SHT_SYMTAB}) {
    const std::optional<GElf_Sym> found = find_symbol(elf_, type, name, true);
    if (found) return found->st_value - first_address_;
  }
  return std::nullopt;
}

std::vector<DataSymbol> ElfFile::data_symbols() const {
  std::vector<DataSymbol> found;
  for (const Elf64_Word type : {SHT_DYNSYM, SHT_SYMTAB}) {
    Elf_Scn* const table = is_elf() ? section(elf_, type) : nullptr;
    GElf_Shdr header;
    if (gelf_getshdr(table, &header) == nullptr) continue;
    Elf_Data* const data = elf_getdata(table, nullptr);
    GElf_Sym symbol;
    for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      const char* const name = elf_strptr(elf_, header.sh_link, symbol.st_name);
      if (GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF &&
          name != nullptr) {
        found.push_back({symbol.st_value - first_address_, symbol.st_size, name});
      }
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const DataSymbol& a, const DataSymbol& b) { return a.offset < b.offset; });
  return found;
}

bool ElfFile::exports(const std::string& name) const {
  return find_symbol(elf_, SHT_DYNSYM, name, true).has_value();
}

bool ElfFile::imports(const std::string& name) const {
  return find_symbol(elf_, SHT_DYNSYM, name, false).has_value();
}

bool ElfFile::has_section(const std::string& name) const {
  return named_section(elf_, name) != nullptr;
}

bool ElfFile::has_text(const std::string& text) const {
  Elf_Scn* const constants = named_section(elf_, ".rodata");
  const Elf_Data* const data = constants == nullptr ? nullptr : elf_rawdata(constants, nullptr);
  return data != nullptr && data->d_buf != nullptr &&
         memmem(data->d_buf, data->d_size, text.data(), text.size()) != nullptr;
}

}  // namespace pktmalloc

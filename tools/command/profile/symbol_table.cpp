// SPDX-License-Identifier: MIT
#include "tools/command/profile/symbol_table.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/command/text/demangled.h"

namespace pktmalloc {
namespace {

std::string build_id_of(Elf* elf) {
  for (Elf_Scn* at = elf_nextscn(elf, nullptr); at != nullptr; at = elf_nextscn(elf, at)) {
    GElf_Shdr header;
    if (gelf_getshdr(at, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    Elf_Data* const data = elf_getdata(at, nullptr);
    GElf_Nhdr note;
    size_t name = 0, id = 0;
    for (size_t next = 0;
         data != nullptr && (next = gelf_getnote(data, next, &note, &name, &id)) > 0;) {
      const auto* const bytes = static_cast<const unsigned char*>(data->d_buf);
      if (note.n_type != NT_GNU_BUILD_ID ||
          strcmp(reinterpret_cast<const char*>(bytes + name), "GNU") != 0) {
        continue;
      }
      std::string text;
      for (size_t i = 0; i < note.n_descsz; ++i) text += fmt::format("{:02x}", bytes[id + i]);
      return text;
    }
  }
  return "";
}

std::string debug_file(const std::string& build_id) {
  if (build_id.size() < 3) return "";
  return "/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

}  // namespace

SymbolTable::SymbolTable(const std::string& path, const std::string& build_id) {
  elf_version(EV_CURRENT);
  if (load(path, build_id)) best_file_ = path;
  if (const std::string debug = debug_file(build_id); load(debug, build_id)) {
    best_file_ = debug;
    changed_ = false;
  }
  std::stable_sort(functions_.begin(), functions_.end());
}

// True if it was read and is the one.
bool SymbolTable::load(const std::string& path, const std::string& build_id) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  Elf* const elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  const bool is_elf = elf != nullptr && elf_kind(elf) == ELF_K_ELF;
  const bool same = is_elf && (build_id.empty() || build_id_of(elf) == build_id);
  changed_ |= is_elf && !same;
  size_t segments = 0, names = 0;
  elf_getshdrstrndx(elf, &names);
  if (same && segments_.empty()) elf_getphdrnum(elf, &segments);
  for (size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_LOAD) {
      segments_.push_back({segment.p_offset, segment.p_memsz, segment.p_vaddr});
    }
  }
  for (Elf_Scn* at = same ? elf_nextscn(elf, nullptr) : nullptr; at != nullptr;
       at = elf_nextscn(elf, at)) {
    GElf_Shdr header;
    if (gelf_getshdr(at, &header) == nullptr) continue;
    const char* const section = elf_strptr(elf, names, header.sh_name);
    has_lines_ |= section != nullptr && strstr(section, "debug_line") != nullptr;
    if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* const data = elf_getdata(at, nullptr);
    GElf_Sym symbol;
    for (int i = 0; data != nullptr && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      const auto type = GELF_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
      const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name != nullptr && *name != '\0') {
        functions_.push_back({symbol.st_value, symbol.st_size, name});
      }
    }
  }
  elf_end(elf);
  close(fd);
  return same;
}

uint64_t SymbolTable::address_of(uint64_t offset) const {
  for (const Segment& s : segments_) {
    if (offset - s.offset < s.bytes) return offset - s.offset + s.address;
  }
  return offset;
}

std::string SymbolTable::function_at(uint64_t address) const {
  auto at = std::upper_bound(functions_.begin(), functions_.end(), Function{address, 0, ""});
  // A few names may begin at one address, and local ones without a size lie between.
  for (int tries = 0; tries < 8 && at != functions_.begin(); ++tries) {
    --at;
    if (address - at->address < at->bytes) return demangled(at->name);
  }
  return "";
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// ElfFile: what an executable or library says of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/system/remote_memory.h"

struct Elf;  // of libelf

namespace pktmalloc {

struct DataSymbol {
  uint64_t offset, bytes;  // from where the file's first segment is mapped
  std::string name;
};

// In hexadecimal, of a file whose first bytes some process has mapped there; "": it has none.
std::string build_id_at(uint64_t address, const RemoteMemory& memory);

class ElfFile {
 public:
  // Throws Failure when the file cannot be read; is_elf() is false when it is something else.
  explicit ElfFile(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool is_elf() const;
  // EM_ and ELFCLASS numbers of <elf.h>.
  int machine() const;
  int word_class() const;
  // Without one the loader never sees it: no library can be preloaded.
  bool has_interpreter() const { return !interpreter_.empty(); }
  const std::string& interpreter() const { return interpreter_; }
  const std::vector<std::string>& needed() const { return needed_; }

  // Where a defined symbol lies, in bytes from where the file's first segment is mapped; looked for
  // in .dynsym, then in .symtab.
  std::optional<uint64_t> symbol(const std::string& name) const;
  // Of constants and variables, by place; where it is stripped, those that it exports.
  std::vector<DataSymbol> data_symbols() const;
  // In .dynsym, which is all that the loader looks at: defined here, or asked of others.
  bool exports(const std::string& name) const;
  bool imports(const std::string& name) const;
  bool has_section(const std::string& name) const;
  // Among its constants.
  bool has_text(const std::string& text) const;

 private:
  int descriptor_ = -1;
  Elf* elf_ = nullptr;
  std::string interpreter_;
  std::vector<std::string> needed_;
  uint64_t first_address_ = 0;
};

}  // namespace pktmalloc

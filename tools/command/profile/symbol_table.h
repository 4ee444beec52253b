// SPDX-License-Identifier: MIT
// SymbolTable: the functions of an executable or library, by address in the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pktmalloc {

class SymbolTable {
 public:
  // Of the file, if it has that build id ("": any), and of its debug file. What cannot be read is
  // left out.
  SymbolTable(const std::string& path, const std::string& build_id);

  // The address, as the file counts, of what lies at an offset in it.
  uint64_t address_of(uint64_t offset) const;
  // The demangled name of the function there, or "".
  std::string function_at(uint64_t address) const;

  // The file has another build id.
  bool changed() const { return changed_; }
  // What has the symbols and lines; "" if nothing does.
  const std::string& best_file() const { return best_file_; }
  bool has_lines() const { return has_lines_; }

 private:
  struct Segment {
    uint64_t offset, bytes, address;
  };
  struct Function {
    uint64_t address, bytes;
    std::string name;
    bool operator<(const Function& other) const { return address < other.address; }
  };
  bool load(const std::string& path, const std::string& build_id);

  std::vector<Segment> segments_;
  std::vector<Function> functions_;  // by address
  std::string best_file_;
  bool has_lines_ = false;
  bool changed_ = false;
};

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// TypeNames: what an object is, as far as its first words tell, without debug information.
//
//     object: | vtable's address point | ...
//     vtable: | offset to top | typeinfo | first function | ...
//                                 typeinfo: | vtable of its own kind | name, as mangled |
//
// All of it lies in mapped files, also in stripped ones, and the kind of a typeinfo has a typeinfo
// itself, whose name is known: so nothing else is taken for one. An object whose first word leads
// to functions but to no typeinfo is called by the symbol there, or by the place in its file: C's
// tables of functions, C++ compiled without RTTI. Of Python's objects a word leads to their type.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/command/heap/remote_heap.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/image.h"

namespace pktmalloc {

class TypeNames {
 public:
  explicit TypeNames(const Image& image);

  using Type = uint32_t;
  static constexpr Type kUnknown = 0;

  // Words of an object that are looked at; those behind its end are 0.
  static constexpr unsigned kWords = 6;
  // The heap tells which addresses may be types of Python.
  Type type_of(const uint64_t words[kWords], const RemoteHeap& heap);
  const std::string& name(Type type) const { return names_[type]; }

 private:
  struct File {
    uint64_t start, end;  // of the mapping
    uint64_t base;        // where the file's first byte is or would be
    bool executable;
    std::string path;
  };
  const File* file_at(uint64_t address) const;
  Type named(const std::string& name);
  Type type_of_table(uint64_t table);
  std::string name_of_table(uint64_t table);
  std::string name_of_typeinfo(uint64_t typeinfo);
  bool is_typeinfo_kind(uint64_t table);
  std::string text_at(uint64_t address) const;
  std::string symbol_at(const File& file, uint64_t address);
  std::string place_in(const File& file, uint64_t address) const;
  void find_python();
  Type type_of_python(uint64_t address, const RemoteHeap& heap);

  const Image& image_;
  const RemoteMemory& memory_;
  std::vector<File> files_;  // by address
  std::vector<std::string> names_{""};
  std::unordered_map<std::string, Type> types_;                       // by name
  std::unordered_map<uint64_t, Type> tables_;                         // by address
  std::unordered_map<uint64_t, bool> kinds_;                          // of typeinfo, by address
  std::unordered_map<uint64_t, Type> python_types_;                   // by address
  std::unordered_map<std::string, std::vector<DataSymbol>> symbols_;  // by path
  uint64_t python_type_ = 0;                                          // PyType_Type; 0: no Python
  struct Latest {
    uint64_t table;
    Type type;
  } latest_[256]{};
};

// "Packet (make_shared)" of the block of a shared pointer; other names are as they were.
std::string plain_type_name(const std::string& name);

}  // namespace pktmalloc

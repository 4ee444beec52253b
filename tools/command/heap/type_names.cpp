// SPDX-License-Identifier: MIT
#include "tools/command/heap/type_names.h"

#include <algorithm>
#include <cstring>

#include "tools/command/failure.h"
#include "tools/command/text/demangled.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

constexpr size_t kLongestName = 16 << 10;
constexpr uint64_t kWord = sizeof(uint64_t);

// The first argument of a template whose arguments begin there.
std::string first_argument(const std::string& name, size_t begin) {
  int depth = 0;
  for (size_t at = begin; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '>')) return name.substr(begin, at - begin);
    if (c == '>' || c == ')' || c == ']') --depth;
  }
  return "";
}

}  // namespace

std::string plain_type_name(const std::string& name) {
  struct Block {
    const char* name;
    const char* called;
  };
  static constexpr Block kBlocks[] = {
      {"::_Sp_counted_ptr_inplace<", "make_shared"},
      {"::__shared_ptr_emplace<", "make_shared"},
      {"::_Sp_counted_ptr<", "counts of a shared_ptr"},
      {"::_Sp_counted_deleter<", "counts of a shared_ptr"},
      {"::__shared_ptr_pointer<", "counts of a shared_ptr"},
  };
  for (const Block& block : kBlocks) {
    const size_t at = name.find(block.name);
    if (!name.starts_with("std::") || at == std::string::npos || at > name.find('<')) continue;
    std::string type = first_argument(name, at + strlen(block.name));
    while (type.ends_with('*') || type.ends_with(' ')) type.pop_back();
    if (!type.empty()) return fmt::format("{} ({})", type, block.called);
  }
  return name;
}

TypeNames::TypeNames(const Image& image) : image_(image), memory_(image.memory()) {
  uint64_t base = 0;
  std::string path;
  for (Mapping& m : image.mappings()) {
    if (m.path.empty() || m.path[0] != '/') continue;
    if (m.path != path) base = m.start - m.offset;
    path = m.path;
    files_.push_back({m.start, m.end, base, m.executable, std::move(m.path)});
  }
  find_python();
}

const TypeNames::File* TypeNames::file_at(uint64_t address) const {
  const auto after =
      std::upper_bound(files_.begin(), files_.end(), address,
                       [](uint64_t wanted, const File& file) { return wanted < file.start; });
  if (after == files_.begin() || address >= (after - 1)->end) return nullptr;
  return &*(after - 1);
}

TypeNames::Type TypeNames::named(const std::string& name) {
  if (name.empty()) return kUnknown;
  const auto [at, added] = types_.try_emplace(name, static_cast<Type>(names_.size()));
  if (added) names_.push_back(name);
  return at->second;
}

TypeNames::Type TypeNames::type_of(const uint64_t words[kWords], const RemoteHeap& heap) {
  if (const Type type = type_of_table(words[0]); type != kUnknown) return type;
  if (python_type_ == 0) return kUnknown;
  // A count of references, then the type; in front of them up to four words for the collector of
  // garbage and for attributes.
  for (unsigned at = 0; at + 1 < kWords; at += 2) {
    if (words[at] == 0 || words[at] >> 48 != 0) continue;
    if (const Type type = type_of_python(words[at + 1], heap); type != kUnknown) return type;
  }
  return kUnknown;
}

TypeNames::Type TypeNames::type_of_table(uint64_t table) {
  if (table == 0 || table % kWord != 0 || files_.empty()) return kUnknown;
  Latest& latest = latest_[table / kWord % std::size(latest_)];
  if (latest.table == table) return latest.type;
  if (file_at(table) == nullptr) return kUnknown;
  const auto [at, added] = tables_.try_emplace(table, kUnknown);
  if (added) at->second = named(name_of_table(table));
  latest = {table, at->second};
  return at->second;
}

std::string TypeNames::name_of_table(uint64_t table) {
  uint64_t words[4]{};
  const RemoteMemory::Piece piece{table - 2 * kWord, words, sizeof words};
  if (memory_.copy({&piece, 1}) == 0) return "";
  const auto [to_top, typeinfo, function, next] = words;
  if (to_top == 0 && typeinfo != 0) {
    if (std::string name = name_of_typeinfo(typeinfo); !name.empty()) return name;
  }
  const File* const code = file_at(function);
  const File* const file = file_at(table);
  if (code == nullptr || !code->executable || file->executable) return "";
  // A number with its text behind it may look like the address of a function.
  if (const File* const behind = file_at(next); behind != nullptr && !behind->executable) return "";
  std::string name = symbol_at(*file, table);
  return name.empty() ? place_in(*file, table) : name;
}

std::string TypeNames::name_of_typeinfo(uint64_t typeinfo) {
  if (typeinfo % kWord != 0 || file_at(typeinfo) == nullptr) return "";
  uint64_t words[2]{};
  const RemoteMemory::Piece piece{typeinfo, words, sizeof words};
  if (memory_.copy({&piece, 1}) == 0 || !is_typeinfo_kind(words[0])) return "";
  std::string name = text_at(words[1]);
  if (name.starts_with('*')) name.erase(0, 1);  // known in its own file only
  constexpr const char* kFront = "typeinfo for ";
  const std::string text = demangled("_ZTI" + name);
  return printable(text.starts_with(kFront) ? plain_type_name(text.substr(strlen(kFront))) : name);
}

bool TypeNames::is_typeinfo_kind(uint64_t table) {
  if (table % kWord != 0 || file_at(table) == nullptr) return false;
  const auto [at, added] = kinds_.try_emplace(table, false);
  if (added) {
    const auto typeinfo = memory_.load<uint64_t>(table - kWord);
    const auto name = memory_.load<uint64_t>(typeinfo + kWord);
    at->second = text_at(name).starts_with("N10__cxxabiv1");
  }
  return at->second;
}

std::string TypeNames::text_at(uint64_t address) const {
  std::string text;
  while (text.size() < kLongestName) {
    char buffer[256];
    const size_t bytes = sizeof buffer - address % sizeof buffer;
    const RemoteMemory::Piece piece{address, buffer, bytes};
    if (memory_.copy({&piece, 1}) == 0) return "";
    const size_t length = strnlen(buffer, bytes);
    text.append(buffer, length);
    if (length < bytes) return text;
    address += bytes;
  }
  return "";
}

std::string TypeNames::symbol_at(const File& file, uint64_t address) {
  const auto [at, added] = symbols_.try_emplace(file.path);
  if (added) {
    try {
      at->second = ElfFile(image_.file(file.path).path()).data_symbols();
    } catch (const Failure&) {
    }
  }
  const std::vector<DataSymbol>& symbols = at->second;
  const uint64_t offset = address - file.base;
  auto after = std::upper_bound(
      symbols.begin(), symbols.end(), offset,
      [](uint64_t wanted, const DataSymbol& symbol) { return wanted < symbol.offset; });
  if (after == symbols.begin()) return "";
  --after;
  if (offset - after->offset >= after->bytes) return "";
  const std::string name = demangled(after->name);
  constexpr const char* kFront = "vtable for ";
  return printable(name.starts_with(kFront) ? plain_type_name(name.substr(strlen(kFront))) : name);
}

std::string TypeNames::place_in(const File& file, uint64_t address) const {
  const size_t slash = file.path.rfind('/');
  return printable(fmt::format("{}+{:#x}", file.path.substr(slash + 1), address - file.base));
}

// Whoever links Python into a program exports its types for extensions.
void TypeNames::find_python() {
  std::string seen;
  for (const File& file : files_) {
    if (file.path == seen || file.path.find("python") == std::string::npos) continue;
    seen = file.path;
    try {
      const ElfFile elf(image_.file(file.path).path());
      if (const auto offset = elf.is_elf() ? elf.symbol("PyType_Type") : std::nullopt) {
        python_type_ = file.base + *offset;
        return;
      }
    } catch (const Failure&) {
    }
  }
}

TypeNames::Type TypeNames::type_of_python(uint64_t address, const RemoteHeap& heap) {
  if (address == 0 || address % kWord != 0) return kUnknown;
  if (file_at(address) == nullptr) {
    // One that the program made is a large object itself.
    constexpr uint64_t kLeast = 512;
    const RemoteHeap::Slab* const slab = heap.slab_at(address);
    if (slab == nullptr || heap.size_class(slab->of).object_bytes < kLeast) return kUnknown;
  }
  const auto [at, added] = python_types_.try_emplace(address, kUnknown);
  if (!added) return at->second;
  struct {
    uint64_t references, type, size, name;
  } found{};
  const RemoteMemory::Piece piece{address, &found, sizeof found};
  if (memory_.copy({&piece, 1}) == 0 || found.references == 0) return kUnknown;
  // Its own type may be one of the program's, whose type is `type`.
  if (found.type != python_type_ && memory_.load<uint64_t>(found.type + kWord) != python_type_) {
    return kUnknown;
  }
  const std::string name = text_at(found.name);
  return at->second = named(name.empty() ? "" : printable(name) + " (Python)");
}

}  // namespace pktmalloc

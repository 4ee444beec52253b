// SPDX-License-Identifier: MIT
#include "tools/command/profile/symbolizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "tools/command/failure.h"
#include "tools/command/profile/readable_stack.h"
#include "tools/command/profile/source_lines.h"
#include "tools/command/system/standard_error.h"

namespace pktmalloc {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// Of this library, and what it exports: what is left of a stack when it is linked in statically.
bool allocates(const std::string& function) {
  static const char* const kNames[] = {"malloc",        "calloc",         "realloc", "reallocarray",
                                       "aligned_alloc", "posix_memalign", "memalign"};
  return function.rfind("pktmalloc::", 0) == 0 || function.rfind("operator new", 0) == 0 ||
         function.find("(anonymous namespace)::new_slow") != std::string::npos ||
         std::find(std::begin(kNames), std::end(kNames), function) != std::end(kNames);
}

}  // namespace

const SymbolTable& Symbolizer::table(const MappedFile& file) {
  const auto [at, added] =
      tables_.try_emplace(file.path + ' ' + file.build_id,
                          file.found_at.empty() ? file.path : file.found_at, file.build_id);
  if (added && at->second.changed()) changed_.insert(file.path);
  return at->second;
}

const std::vector<FrameName>& Symbolizer::names(const HeapProfile& profile,
                                                uint64_t return_address) {
  // The call lies before; behind it may be another function already.
  const uint64_t pc = return_address - 1;
  const MappedFile* const file = profile.mapping_of(pc);
  const uint64_t offset = file != nullptr ? pc - file->start + file->offset : pc;
  auto& known = known_[{file != nullptr ? file->path : "", offset}];
  if (!known.empty()) return known;
  if (file == nullptr) {
    known.push_back({fmt::format("{:#x}", return_address), "", ""});
    return known;
  }
  const SymbolTable& symbols = table(*file);
  const std::string module = file_name(file->path);
  std::string function = symbols.function_at(symbols.address_of(offset));
  if (function.empty()) function = fmt::format("{}+{:#x}", module, offset + 1);
  known.push_back({std::move(function), module, ""});
  return known;
}

void Symbolizer::prepare(const HeapProfile& profile) {
  if (!lines_) return;
  std::map<const MappedFile*, std::set<uint64_t>> offsets;
  for (const HeapProfile::Place& place : profile.places) {
    for (const uint64_t frame : place.frames) {
      if (const MappedFile* const file = profile.mapping_of(frame - 1)) {
        offsets[file].insert(frame - 1 - file->start + file->offset);
      }
    }
  }
  for (const auto& [file, of_file] : offsets) {
    const SymbolTable& symbols = table(*file);
    if (!symbols.has_lines()) continue;
    std::vector<uint64_t> addresses;
    for (const uint64_t offset : of_file) addresses.push_back(symbols.address_of(offset));
    std::vector<std::vector<FrameName>> found;
    try {
      found = source_lines(symbols.best_file(), addresses);
    } catch (const Failure& failure) {
      tell(failure.what());
      lines_ = false;
      return;
    }
    size_t i = 0;
    for (const uint64_t offset : of_file) {
      std::vector<FrameName>& names = found[i++];
      for (FrameName& name : names) name.module = file_name(file->path);
      if (!names.empty()) known_[{file->path, offset}] = std::move(names);
    }
  }
}

std::vector<FrameName> Symbolizer::names(const HeapProfile& profile,
                                         const HeapProfile::Place& place) {
  std::vector<FrameName> all;
  for (const uint64_t frame : place.frames) {
    const auto& of_frame = names(profile, frame);
    all.insert(all.end(), of_frame.begin(), of_frame.end());
  }
  const auto own = std::find_if_not(all.begin(), all.end(),
                                    [](const FrameName& name) { return allocates(name.function); });
  if (own != all.end()) all.erase(all.begin(), own);
  if (folds_) fold_standard_library(all);
  const bool is_cut = profile.schema > 1 ? place.is_cut : looks_cut_off(all, place.frames.size());
  if (is_cut) all.push_back({kCutOff, "", ""});
  if (!place.thread.empty()) all.push_back({place.thread, "", ""});
  return all;
}

}  // namespace pktmalloc

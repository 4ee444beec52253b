// SPDX-License-Identifier: MIT
#include "tools/command/compare/contenders.h"

#include "tools/command/compare/execution.h"
#include "tools/command/failure.h"
#include "tools/command/system/elf_file.h"

namespace pktmalloc {
namespace {

void refuse_what_cannot_be_preloaded(const Allocator& allocator) {
  const std::string& library = allocator.library;
  if (library.empty()) return;
  if (!ElfFile(library).is_elf()) throw Failure("{} is not a library", library);
  const std::string objection = objection_to(library);
  if (!objection.empty()) throw Failure("{} cannot be preloaded: {}", allocator.name, objection);
}

}  // namespace

Allocator find_contender(const std::string& wanted) {
  Allocator found = find_allocator(wanted, "compare");
  refuse_what_cannot_be_preloaded(found);
  return found;
}

std::vector<Allocator> find_contenders(const std::vector<std::string>& wanted) {
  std::vector<Allocator> found;
  for (const std::string& name : wanted) found.push_back(find_allocator(name, "compare"));
  if (wanted.empty()) found = installed_allocators();
  std::vector<Allocator> all = {{kGlibc, ""}};
  bool any_of_ours = false;
  for (const Allocator& allocator : found) {
    if (allocator.library.empty()) continue;
    if (allocator.name == kGlibc) throw Failure("glibc is what runs without a library");
    for (const Allocator& other : all) {
      if (other.name == allocator.name) throw Failure("{} is named twice", other.name);
    }
    refuse_what_cannot_be_preloaded(allocator);
    any_of_ours |= ElfFile(allocator.library).exports("pktmalloc_window");
    all.push_back(allocator);
  }
  if (!any_of_ours) all.push_back(find_allocator("pktmalloc", "compare"));
  return all;
}

}  // namespace pktmalloc

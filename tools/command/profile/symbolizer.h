// SPDX-License-Identifier: MIT
// Symbolizer: names for the addresses of a heap profile, from the files that it names.
//
// A file is used only if it still has the build id that the profile tells; else its debug file is
// looked for by that id under /usr/lib/debug, as debuggers do. So a profile can be read on another
// machine that has the same files. Without a name an address is FILE+0xOFFSET.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/command/profile/frame_name.h"
#include "tools/command/profile/heap_profile.h"
#include "tools/command/profile/symbol_table.h"

namespace pktmalloc {

class Symbolizer {
 public:
  // With lines: llvm-symbolizer or addr2line is asked for source lines and inlined functions, of
  // files that have debug information. If neither is there, one line on stderr says so.
  // `folds`: of the C++ standard library only what the program called.
  explicit Symbolizer(bool lines, bool folds) : lines_(lines), folds_(folds) {}

  // Innermost first: the functions inlined at the place, then the one they are in. Never empty.
  const std::vector<FrameName>& names(const HeapProfile& profile, uint64_t return_address);

  // The names of a whole stack. Frames of the allocator itself, linked into the program, are left
  // out; one that was cut gets a frame outside that says so, and outside of all is the thread.
  std::vector<FrameName> names(const HeapProfile& profile, const HeapProfile::Place& place);

  // Asks for the lines of all addresses of the profile at once.
  void prepare(const HeapProfile& profile);

  // Files whose build id is not the profile's any more.
  const std::set<std::string>& changed() const { return changed_; }

 private:
  const SymbolTable& table(const MappedFile& file);

  bool lines_, folds_;
  // By file and offset in it, which say the same in every process.
  std::map<std::pair<std::string, uint64_t>, std::vector<FrameName>> known_;
  std::map<std::string, SymbolTable> tables_;
  std::set<std::string> changed_;
};

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// Library: libpktmalloc.so, or its hardened or checked twin, where this command finds it.
#pragma once

#include <string>

#include "preload/formats/library_kind.h"
#include "tools/command/system/environment.h"

namespace pktmalloc {

class Library {
 public:
  // The one that belongs to this command: beside it (a build), in the lib folder next to its bin,
  // then where Debian and `make install` put libraries. Throws Failure that tells where it looked.
  static Library find(LibraryKind kind = LibraryKind::kNormal);
  // The file at `path`. Throws Failure when it is no pktmalloc library.
  explicit Library(const std::string& path);

  // Absolute; without space and colon, which LD_PRELOAD takes for separators.
  const std::string& path() const { return path_; }
  // By the name of its file, links followed.
  LibraryKind kind() const;
  // EM_ and ELFCLASS numbers of <elf.h>: only programs of the same can load it.
  int machine() const { return machine_; }
  int word_class() const { return word_class_; }

  // Starts this command's own executable under the library with `options` and no others, and tells
  // what the loader or the library objects to: "" when both are content. The library judges its
  // options better than a copy of its parsers here would.
  std::string objection(const Environment& options) const;

 private:
  std::string path_;
  int machine_;
  int word_class_;
};

// ", checked", say; "" for the normal one.
std::string remark(LibraryKind kind);

// Is this an entry of LD_PRELOAD, or a mapped file, that is one of our libraries?
bool is_our_library(const std::string& path);

// Absolute, symbolic links followed.
std::string own_executable();

}  // namespace pktmalloc

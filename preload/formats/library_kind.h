// SPDX-License-Identifier: MIT
// LibraryKind: the libraries that are made from these sources, by what they look for.
#pragma once

#include <cstdint>

namespace pktmalloc {

enum class LibraryKind : uint32_t { kNormal, kChecked, kHardened };

struct LibraryNames {
  const char* file;
  const char* word;  // before "library"; the normal one needs none
};
inline constexpr LibraryNames kLibraries[] = {
    {"libpktmalloc.so", ""},
    {"libpktmalloc-checked.so", "checked"},
    {"libpktmalloc-hardened.so", "hardened"},
};
// `kind` may come from another process; an unknown one counts as the normal library.
inline const LibraryNames& names_of(LibraryKind kind) {
  const auto i = static_cast<uint32_t>(kind);
  return kLibraries[i < sizeof kLibraries / sizeof *kLibraries ? i : 0];
}

}  // namespace pktmalloc

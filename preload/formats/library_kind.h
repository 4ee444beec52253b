// SPDX-License-Identifier: MIT
// LibraryKind: the libraries that are made from these sources, by what they look for.
#pragma once

#include <cstdint>

namespace pktmalloc {

enum class LibraryKind : uint32_t { kNormal, kChecked, kHardened };

struct LibraryNames {
  const char* file;
  const char* word;  // before "library"; the normal one needs none
  // What it keeps of each object far away, which begins as ObjectStates do: so many bytes, found by
  // the address of this byte of the object. 0: nothing. And bytes of canaries beside each.
  uint32_t state_bytes, state_at, canaries;
};
inline constexpr LibraryNames kLibraries[] = {
    {"libpktmalloc.so", "", 0, 0, 0},
    {"libpktmalloc-checked.so", "checked", 16, 16, 24},
    {"libpktmalloc-hardened.so", "hardened", 2, 0, 8},
};
// `kind` may come from another process; an unknown one counts as the normal library.
inline constexpr const LibraryNames& names_of(LibraryKind kind) {
  const auto i = static_cast<uint32_t>(kind);
  return kLibraries[i < sizeof kLibraries / sizeof *kLibraries ? i : 0];
}

}  // namespace pktmalloc

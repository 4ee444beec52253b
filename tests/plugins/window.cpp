// SPDX-License-Identifier: MIT
// A library with a pktmalloc_window as the file named by WINDOW says: of another schema, or
// nonsense. Words whose upper half is 0xfa4e0000 become addresses in it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
constinit std::uint64_t pktmalloc_window[1 << 14] = {};
}

namespace {

__attribute__((constructor)) void open_window() {
  const char* path = getenv("WINDOW");
  std::FILE* file = path != nullptr ? std::fopen(path, "rb") : nullptr;
  if (file == nullptr) return;
  const std::size_t bytes = std::fread(pktmalloc_window, 1, sizeof pktmalloc_window, file);
  std::fclose(file);
  for (std::size_t i = 0; i < bytes / sizeof *pktmalloc_window; ++i) {
    if (pktmalloc_window[i] >> 32 != 0xfa4e0000) continue;
    pktmalloc_window[i] = reinterpret_cast<std::uint64_t>(pktmalloc_window) +
                          static_cast<std::uint32_t>(pktmalloc_window[i]);
  }
}

}  // namespace

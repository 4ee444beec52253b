// SPDX-License-Identifier: MIT
// Where temporary files go.
#pragma once

#include <cstdlib>
#include <string>

namespace pktmalloc {

// A folder, which need not exist.
inline std::string temporary_place() {
  const char* const told = getenv("TMPDIR");
  return told != nullptr && *told != '\0' ? told : "/tmp";
}

}  // namespace pktmalloc

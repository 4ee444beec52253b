// SPDX-License-Identifier: MIT
// Findings: what the checked library has told on stderr, kept in a file, with source lines. The
// library itself needs libc only and reads no debug information.
#pragma once

#include <string>

namespace pktmalloc {

// Nothing else is read than regular files. False: there is no finding in it.
bool print_findings(const std::string& path);

}  // namespace pktmalloc

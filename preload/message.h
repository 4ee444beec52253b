// SPDX-License-Identifier: MIT
// One line on stderr, prefixed "pktmalloc: ". Allocates nothing, takes no lock, keeps errno; longer
// than 500 bytes it is cut.
#pragma once

namespace pktmalloc {

void message(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace pktmalloc

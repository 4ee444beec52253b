// SPDX-License-Identifier: MIT
// One line on stderr, prefixed "pktmalloc: ". Allocates nothing, takes no lock, keeps errno; longer
// than 500 bytes it is cut. An error's text is that of strerrordesc_np: strerror may load a
// translation, and allocate.
#pragma once

namespace pktmalloc {

void message(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace pktmalloc

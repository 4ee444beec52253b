// SPDX-License-Identifier: MIT
// One line on stderr, prefixed "pktmalloc: ", with control characters shown as "?". Allocates
// nothing, takes no lock, keeps errno, writes at once; cuts the line to 500 bytes only where the
// system refuses memory for a longer one. For an error's text use strerrordesc_np: strerror may
// load a translation, and allocate.
#pragma once

#include <cstddef>

namespace pktmalloc {

// Control characters, which a terminal obeys and readers of lines stumble over, become "?".
void hide_controls(char* text, size_t length);

void message(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Writes to `fd`, where stderr went.
void message_to(int fd, const char* format, ...) __attribute__((format(printf, 2, 3)));

// As much of a text of any length as identifies it.
struct Excerpt {
  static constexpr size_t kMost = 80;
  char text[kMost + 4];

  Excerpt(const char* from, size_t length);
};

}  // namespace pktmalloc

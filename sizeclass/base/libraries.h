// SPDX-License-Identifier: MIT
// Libraries: the headers that most sources of the library include, compiled once for all of them
// (Makefile). Each source still names what it uses: it compiles without this, too.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

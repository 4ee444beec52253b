// SPDX-License-Identifier: MIT
// A function of zstd's as a program may have it, of another version: libzstd must call its own.
#include <cstdlib>

extern "C" std::size_t ZSTD_compress_usingDict() { std::abort(); }

// SPDX-License-Identifier: MIT
// glibc's header, for musl, which has no such word: the reference is weak.
extern "C" char __libc_single_threaded;

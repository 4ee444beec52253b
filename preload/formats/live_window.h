// SPDX-License-Identifier: MIT
// Window: the block through which `pktmalloc stat`, `top` and `doctor` read a process from outside.
//
// Every process with the library, preloaded or linked, exports one symbol, pktmalloc_window. A
// reader of the same user finds it in the library's symbol table, copies it with
// process_vm_readv(2), checks magic, schema and bytes, and follows its addresses, which are those
// of that process. The process need not stop and does not notice. One byte is there to be written,
// by `pktmalloc tell` (HeapWindow::caller).
// It is all zero until the library has started, except deep_bindings. Any change to these structs
// or to those they name raises kWindowSchema.
#pragma once

#include <cstdint>

#include "preload/formats/library_kind.h"
#include "sizeclass/heap/heap_window.h"

namespace pktmalloc {

inline constexpr uint32_t kWindowSchema = 13;
inline constexpr uint64_t kWindowMagic = 0x77646e6977746b70;  // "pktwindw" in memory; written last

// Of the heap profile, where the library has one: the addresses of its table of live samples
// (recording/sample_table.h), of its sums (recording/profile.h) and of what says where stacks lie
// (stacks/stacks.h).
struct ProfileWindow {
  uint64_t samples, sums, stacks;
};

struct Window {
  uint64_t magic;
  uint32_t schema;
  uint32_t bytes;    // of this struct
  char version[16];  // PKTMALLOC_VERSION
  char program[64];  // the name at start, cut to fit
  LibraryKind library;
  uint32_t pid;            // of the process that opened it; a forked child's has its parent's
  uint64_t passed;         // uint64_t[kPassReasons][kSizeBands]: by threads without cache
  uint64_t forks;          // one word
  uint64_t deep_bindings;  // calls of dlopen whose RTLD_DEEPBIND was ignored
  ProfileWindow profile;
  HeapWindow heap;  // heap.classes == 0: nothing is pooled
};

}  // namespace pktmalloc

extern "C" pktmalloc::Window pktmalloc_window;

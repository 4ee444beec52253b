// SPDX-License-Identifier: MIT
// What musl has in another way, or not at all.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/single_threaded.h>

#undef dlsym

namespace {

void* find_next(const char* name) { return dlsym(RTLD_NEXT, name); }

// As libc's, which would call the aligned_alloc that this library exports.
int aligned_blocks(void** to, size_t alignment, size_t bytes) {
  using Allocate = void* (*)(size_t, size_t);
  static const auto allocate = reinterpret_cast<Allocate>(find_next("aligned_alloc"));
  const int before = errno;
  void* const block = allocate(alignment, bytes);
  if (block == nullptr) return errno;
  errno = before;
  *to = block;
  return 0;
}

}  // namespace

extern "C" {

void* pktmalloc_find_symbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (library != RTLD_NEXT || found == nullptr || strcmp(name, "posix_memalign") != 0) return found;
  return reinterpret_cast<void*>(aligned_blocks);
}

// Whether the process has one thread cannot be told.
char __libc_single_threaded = 0;

const char* strerrordesc_np(int error) { return strerror(error); }

int __register_atfork(void (*before)(), void (*in_parent)(), void (*in_child)(), void*) {
  return pthread_atfork(before, in_parent, in_child);
}

}  // extern "C"

// In the place of preload/base/other_stack.cpp, because musl has no makecontext: what a handler
// does must do with its stack.
namespace pktmalloc {

void make_other_stack();
void run_on_other_stack(void (*run)(void*, bool), void* argument);

void make_other_stack() {}
void run_on_other_stack(void (*run)(void*, bool), void* argument) { run(argument, false); }

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// What the library's sources name of glibc and musl has not, so that they compile for musl as they
// are: included before each of them (musl.mk). missing.cpp has what is worth having there; the rest
// does nothing, or is never called.
#pragma once
#pragma GCC system_header

#define __GLIBC_PREREQ(major, minor) 0  // for the headers of libstdc++

#include <dlfcn.h>
#include <features.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define RTLD_DEEPBIND 8
#define LM_ID_BASE 0
#define M_TRIM_THRESHOLD (-1)
#define M_ARENA_MAX (-8)
#define M_MMAP_THRESHOLD (-3)

#define __SIGRTMIN 32
#define MADV_POPULATE_WRITE 23
#define RTLD_DL_LINKMAP 2

using __locale_t = locale_t;
using __rlimit_resource = int;
#undef rlimit64
#undef setrlimit64
#undef prlimit64
using rlimit64 = rlimit;

struct mallinfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

inline const char* basename(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

extern "C" {
struct mallinfo mallinfo();
struct mallinfo2 mallinfo2();
inline void* dlmopen(long, const char* file, int mode) { return dlopen(file, mode); }
inline int pthread_attr_setaffinity_np(pthread_attr_t*, size_t, const void*) { return 0; }
inline int dladdr1(const void*, Dl_info*, void**, int) { return 0; }
int pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
const char* strerrordesc_np(int error);
void* pktmalloc_find_symbol(void* library, const char* name);
}

// missing.cpp says why.
#define dlsym pktmalloc_find_symbol
#define dlvsym(library, name, version) ((void)(version), pktmalloc_find_symbol(library, name))

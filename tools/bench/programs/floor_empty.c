// SPDX-License-Identifier: MIT
// libempty.so: malloc and free that do nothing, for `floor`.
//
// malloc always returns the same static buffer, free returns. So two live objects share their
// bytes, and only a program that can bear that may be preloaded with it. calloc and realloc, which
// process start-up may need to be right, take fresh memory from a second buffer until it ends.
#include <stddef.h>
#include <stdlib.h>

enum { kBufferBytes = 1 << 20, kAlignment = 16 };

static _Alignas(kAlignment) char constant_buffer[kBufferBytes];
static _Alignas(kAlignment) char fresh_buffer[kBufferBytes];
static size_t fresh_bytes;

void* malloc(size_t size) {
  (void)size;
  return constant_buffer;
}

void free(void* object) { (void)object; }

// operator new(size_t), operator delete(void*), operator delete(void*, size_t): without them
// libstdc++ would call malloc and free, and every call would be two.
void* _Znwm(size_t size) {
  (void)size;
  return constant_buffer;
}

void _ZdlPv(void* object) { (void)object; }

void _ZdlPvm(void* object, size_t size) {
  (void)object;
  (void)size;
}

static void* take_fresh(size_t size) {
  size = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (size > kBufferBytes - fresh_bytes) return NULL;
  void* object = fresh_buffer + fresh_bytes;
  fresh_bytes += size;
  return object;
}

void* calloc(size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : take_fresh(bytes);
}

// The old object's length is not known. Copies SIZE bytes: its own and some that lie behind it, all
// of them inside the buffers.
void* realloc(void* object, size_t size) {
  char* fresh = take_fresh(size);
  if (fresh == NULL || object == NULL) return fresh;
  const char* old = object;
  for (size_t i = 0; i < size; ++i) fresh[i] = old[i];
  return fresh;
}

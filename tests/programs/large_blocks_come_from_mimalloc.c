// SPDX-License-Identifier: MIT
// Run with PKTMALLOC_NEXT=mimalloc: what is not pooled is mimalloc's, whose own malloc stays
// hidden.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "child.h"
#include "interface.h"

static bool (*is_mimalloc)(const void*);

static void* run(void* unused) {
  (void)unused;
  for (int i = 0; i < 30; ++i) {
    const size_t bytes = (size_t)(2 + i % 7) << 20;
    void* block = malloc(bytes);
    CHECK(block != NULL && pktmalloc_class_bytes(block) == 0 && is_mimalloc(block));
    CHECK(malloc_usable_size(block) >= bytes);
    write_pattern(block, bytes, 3);
    block = realloc(block, bytes + 12345678);
    CHECK(is_mimalloc(block) && has_pattern(block, bytes, 3));
    write_pattern(block, 1000, 4);
    block = realloc(block, 1000);
    CHECK(!is_mimalloc(block) && pktmalloc_class_bytes(block) > 0 && has_pattern(block, 1000, 4));
    free(block);
    void* aligned = aligned_alloc(4096, 2 << 20);
    CHECK(is_mimalloc(aligned) && (size_t)aligned % 4096 == 0);
    free(aligned);
    char* zeroed = calloc(3, 1 << 20);
    CHECK(is_mimalloc(zeroed) && zeroed[0] == 0 && memcmp(zeroed, zeroed + 1, (3 << 20) - 1) == 0);
    free(zeroed);
    use_heap((uint64_t)i, 200, 21);
  }
  return NULL;
}

int main(void) {
  void* mimalloc = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_NOLOAD);
  CHECK(mimalloc != NULL);
  is_mimalloc = (bool (*)(const void*))dlsym(mimalloc, "mi_is_in_heap_region");
  CHECK(is_mimalloc != NULL);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, run, NULL) == 0);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  run(NULL);
  const pid_t child = fork();
  if (child == 0) {
    run(NULL);
    exit(0);
  }
  wait_for_child(child);
  return 0;
}

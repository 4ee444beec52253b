// SPDX-License-Identifier: MIT
// One heap error of a table, committed on objects of one size in the middle of ordinary work.
//
//   heap_error             lists the kinds: name, sizes, what it does, divided by tabs
//   heap_error KIND SIZE   commits one
//
// stdout is "pointer 0x..." (what a report must name), "error done" right after the error, and
// "end" when main returns. So it shows when an allocator stopped the program, if it did. The object
// lies between live ones of its size, and a second thread takes part before and after, so that no
// verdict depends on a page's end or on a list that nobody used again.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "ordinary_work.h"

namespace {

void say(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(3);
}

struct Family {
  void* (*allocate)(size_t bytes);
  void (*release)(void* p);
};
const Family kMalloc{malloc, free};
const Family kNew{[](size_t bytes) { return ::operator new(bytes); },
                  [](void* p) { ::operator delete(p); }};
const Family kNewArray{[](size_t bytes) { return ::operator new[](bytes); },
                       [](void* p) { ::operator delete[](p); }};

// What the program owns after the error and will release.
char* owned[1100];
size_t owned_count;
char* owns(char* p) { return owned[owned_count++] = p; }

// All live objects by address, and which of them meets the error: the one with the nearest
// neighbours.
char* objects[kMostLive];
size_t chosen;
void choose() {
  const auto room = [](size_t i) { return objects[i + 1] - objects[i - 1]; };
  std::sort(objects, objects + live_count());
  chosen = live_count() / 4;
  for (size_t i = chosen; i < live_count() * 3 / 4; ++i) {
    if (room(i) < room(chosen)) chosen = i;
  }
}

char* shown(char* p) {
  char line[40];
  snprintf(line, sizeof line, "pointer %p\n", static_cast<void*>(p));
  say(line);
  return hidden(p);
}

void writes(char* p, ptrdiff_t from, int count, char value = 'A') {
  for (volatile char* at = hidden(p) + from; count > 0; --count) *at++ = value;
}
void reads(const char* p, ptrdiff_t from) {
  static_cast<void>(*static_cast<const volatile char*>(hidden(p) + from));
}

// Each kind is given its object, lets the error happen and says by owns() what it keeps.
void none(char* p) { owns(shown(p)); }

void double_free_after(char* p, int others) {
  char* between[1000];
  for (int i = 0; i < others; ++i) between[i] = used(malloc(size));
  frees(shown(p));
  for (int i = 0; i < others; ++i) frees(between[i]);
  frees(p);
}
void double_free(char* p) { double_free_after(p, 0); }
void double_free_1(char* p) { double_free_after(p, 1); }
void double_free_20(char* p) { double_free_after(p, 20); }
void double_free_1000(char* p) { double_free_after(p, 1000); }
void double_free_after_reuse(char* p) {
  frees(shown(p));
  do owns(used(malloc(size)));
  while (owned[owned_count - 1] != p && owned_count < 1000);
  frees(p);
}
void double_free_elsewhere(char* p) {
  worker.does(frees, shown(p));
  frees(p);
}
void double_free_of_ended(char* p) {
  worker.does(frees, shown(p));
  worker.ends();
  worker.start();
  frees(p);
}

void inner(char* p) { frees(shown(owns(p) + (size < 32 ? 8 : size / 2 / 16 * 16))); }
void inner_by_8(char* p) { frees(shown(owns(p) + 8)); }
void inner_by_1(char* p) { frees(shown(owns(p) + 1)); }

void foreign_stack(char* p) {
  alignas(16) char on_stack[256] = {};
  frees(shown(hidden(on_stack) + 64));
  owns(p);
}
alignas(16) char in_static_data[256];
void foreign_static(char* p) {
  frees(shown(in_static_data + 64));
  owns(p);
}
void foreign_mapping(char* p) {
  void* mapped = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  frees(shown(static_cast<char*>(mapped) + (1 << 19)));
  owns(p);
}
void never_handed_out(char* p) { frees(shown(owns(p) + (40 << 20))); }

void overflow_1(char* p) { writes(owns(shown(p)), size, 1); }
void overflow_zero(char* p) { writes(owns(shown(p)), size, 1, '\0'); }
void overflow_8(char* p) { writes(owns(shown(p)), size, 8); }
void overflow_32(char* p) { writes(owns(shown(p)), size, 32); }
void overflow_jumping(char* p) { writes(owns(shown(p)), objects[chosen + 1] - p, 8); }
// Whatever a library keeps there, it becomes another byte.
void underflow_1(char* p) {
  volatile char* const before = hidden(owns(shown(p))) - 1;
  *before = static_cast<char>(~*before);
}
void underflow_16(char* p) { writes(owns(shown(p)), -16, 16); }
void read_past_end(char* p) { reads(owns(shown(p)), size); }

void write_after_free(char* p) {
  frees(shown(p));
  writes(p, 0, 16);
}
void write_after_free_inside(char* p) {
  frees(shown(p));
  writes(p, size / 2, 1);
}
void read_after_free(char* p) {
  frees(shown(p));
  reads(p, 0);
}

void write_to_nothing(char* p) { writes(owns(shown(p)), 0, 1); }
void read_of_nothing(char* p) { reads(owns(shown(p)), 0); }

void delete_too_small(char* p) { ::operator delete(shown(p), size / 2); }
void delete_too_large(char* p) { ::operator delete(shown(p), size * 2); }
void delete_of_array(char* p) { ::operator delete(shown(p)); }
void delete_of_malloc(char* p) { ::operator delete(shown(p)); }
void free_of_new(char* p) { frees(shown(p)); }

void realloc_of_freed(char* p) {
  frees(shown(p));
  char* other = static_cast<char*>(realloc(hidden(p), size * 2));
  if (other != nullptr) owns(other);
}
void usable_size_of_freed(char* p) {
  frees(shown(p));
  hidden(reinterpret_cast<char*>(malloc_usable_size(hidden(p))));
}

const char kSizes[] = "16 64 256 1500 16384 100000 1048576";
const char kNothing[] = "0";

#define KIND(name) #name, name
const struct Kind {
  const char* name;
  void (*commit)(char* p);
  const char* what;
  const Family& family = kMalloc;
  const char* sizes = kSizes;
} kKinds[] = {
    {KIND(none), "commits no error"},
    {KIND(double_free), "frees an object, and again at once"},
    {KIND(double_free_1), "with one other free between"},
    {KIND(double_free_20), "with 20 other frees between"},
    {KIND(double_free_1000), "with 1000 other frees between"},
    {KIND(double_free_after_reuse), "frees the object of a later owner, who then frees it, too"},
    {KIND(double_free_elsewhere), "frees what another thread, which still runs, has freed"},
    {KIND(double_free_of_ended), "frees what a thread that has ended has freed"},
    {KIND(inner), "frees the middle of an object, aligned to 16 (of 16 bytes: to 8)"},
    {KIND(inner_by_8), "frees a pointer 8 bytes into an object"},
    {KIND(inner_by_1), "frees a pointer 1 byte into an object"},
    {KIND(foreign_stack), "frees an array on the stack"},
    {KIND(foreign_static), "frees a static array"},
    {KIND(foreign_mapping), "frees the middle of a mapping of its own"},
    {KIND(never_handed_out), "frees an address 40 MiB behind an object"},
    {KIND(overflow_1), "writes 1 byte past the end"},
    {KIND(overflow_zero), "writes a byte of zero past the end, as for a string"},
    {KIND(overflow_8), "writes 8 bytes past the end"},
    {KIND(overflow_32), "writes 32 bytes past the end"},
    {KIND(overflow_jumping), "writes 8 bytes to the next object by the pointer to this one"},
    {KIND(underflow_1), "writes the byte before the object"},
    {KIND(underflow_16), "writes the 16 bytes before the object"},
    {KIND(read_past_end), "reads the byte past the end"},
    {KIND(write_after_free), "writes the first 16 bytes of a freed object"},
    {KIND(write_after_free_inside), "writes a byte in the middle of a freed object"},
    {KIND(read_after_free), "reads a freed object"},
    {KIND(write_to_nothing), "writes to malloc(0)", kMalloc, kNothing},
    {KIND(read_of_nothing), "reads from malloc(0)", kMalloc, kNothing},
    {KIND(delete_too_small), "tells delete half of the size", kNew},
    {KIND(delete_too_large), "tells delete twice the size", kNew},
    {KIND(delete_of_array), "deletes what new[] allocated", kNewArray},
    {KIND(delete_of_malloc), "deletes what malloc allocated"},
    {KIND(free_of_new), "frees what new allocated", kNew},
    {KIND(realloc_of_freed), "reallocs a freed object"},
    {KIND(usable_size_of_freed), "asks for the usable size of a freed object"},
};

void commit(const Kind& kind) {
  const size_t count = live_count();
  for (size_t i = 0; i < count; ++i) objects[i] = used(kind.family.allocate(size));
  choose();
  kind.commit(objects[chosen]);
  say("error done\n");
  while (owned_count > 0) free(owned[--owned_count]);
  work();
  for (size_t i = 0; i < count; ++i) {
    if (i != chosen) kind.family.release(objects[i]);
  }
  work();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    for (const Kind& kind : kKinds) printf("%s\t%s\t%s\n", kind.name, kind.sizes, kind.what);
    return 0;
  }
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const Kind& k) { return strcmp(k.name, argv[1]) == 0; });
  if (argc != 3 || kind == std::end(kKinds)) return 2;
  size = strtoul(argv[2], nullptr, 10);
  worker.start();
  work();
  commit(*kind);
  worker.ends();
  say("end\n");
  return 0;
}

// SPDX-License-Identifier: MIT
// One heap error, chosen by name. Prints the address that the report must name, commits the error
// in a function of its own, and ends with status 7 if nobody stops it.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <new>
#include <string>
#include <thread>

// C23; not in this libc.
extern "C" __attribute__((weak)) void free_sized(void*, size_t);
extern "C" __attribute__((weak)) void free_aligned_sized(void*, size_t, size_t);

namespace {

void* volatile escaped;  // so that the compiler sees no error and removes nothing

void* shown(void* p) {
  printf("%p\n", p);
  fflush(stdout);
  escaped = p;
  return escaped;
}

char* bytes(void* p) { return static_cast<char*>(p); }

char in_static_data[64];

struct Fault {
  void* (*prepare)();
  void (*commit)(void*);
};

}  // namespace

// Names for the report, never inlined.
#define SITE extern "C" [[gnu::noinline]]
SITE void* allocation() { return shown(malloc(100)); }
SITE void* large_allocation() { return shown(malloc(1000000)); }
SITE void* aligned_allocation() { return shown(aligned_alloc(256, 512)); }
SITE void* new_allocation() { return shown(::operator new(100)); }
SITE void* array_allocation() { return shown(::operator new[](100)); }
SITE void* aligned_new() { return shown(::operator new (100, std::align_val_t{64})); }
SITE void allocates_often(int times, size_t size) {
  while (times-- > 0) {
    escaped = malloc(size);
    free(escaped);
  }
}
SITE void* freed_allocation() {
  void* p = malloc(100);
  free(p);
  return shown(p);
}
// Shown before, because printf allocates and might get the memory.
SITE void* large_freed_allocation() {
  void* p = shown(malloc(1000000));
  free(p);
  return p;
}
SITE void* freed_among_many_large() {
  constexpr int kObjects = 1000;
  static void* objects[kObjects];
  for (void*& object : objects) object = malloc(300000);
  for (int i = 0; i < kObjects; i += 2) free(objects[i]);
  for (int i = 1; i < kObjects; i += 2) free(objects[i]);
  return shown(objects[kObjects - 1]);
}
SITE void* whole_guarded() { return shown(malloc(1472)); }
SITE void* guarded_freed_long_ago() {
  void* p = malloc(1472);
  free(p);
  allocates_often(100000, 1000);
  return shown(p);
}
SITE void* static_data() { return shown(in_static_data + 16); }
SITE void* stack_data() {
  void* on_stack = __builtin_frame_address(0);
  return shown(on_stack);
}
SITE void* unmapped() { return shown(reinterpret_cast<void*>(0x10000)); }
SITE void* inaccessible() {
  return shown(bytes(mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) + 4112);
}
SITE void* far_in_the_heap() { return shown(bytes(malloc(100)) + 32 * 160); }

SITE void frees(void* p) { free(p); }
SITE void frees_inside(void* p) { free(bytes(p) + 24); }
SITE void frees_near(void* p) { free(bytes(p) + 8); }
SITE void frees_before(void* p) { free(bytes(p) - 16); }
SITE void reallocs(void* p) { escaped = realloc(p, 10); }
SITE void reallocs_inside(void* p) { escaped = realloc(bytes(p) + 16, 10); }
SITE void asks_size(void* p) { escaped = reinterpret_cast<void*>(malloc_usable_size(p)); }
SITE void deletes(void* p) { ::operator delete(p); }
SITE void deletes_array(void* p) { ::operator delete[](p); }
SITE void deletes_64(void* p) { ::operator delete (p, size_t{64}); }
SITE void deletes_32_aligned(void* p) { ::operator delete (p, std::align_val_t{32}); }
SITE void frees_64(void* p) { free_sized(p, 64); }
SITE void frees_128_aligned(void* p) { free_aligned_sized(p, 128, 512); }
SITE void writes_behind(void* p) {
  bytes(p)[100] = 'A';
  free(p);
}
// Each to a place of its own, with a size that no compiler knows.
SITE void copies(char* to, size_t size) {
  static char from[200];
  asm volatile("" : "+r"(size));
  memcpy(to, from, size);
}
SITE void moves(char* to, size_t size) {
  asm volatile("" : "+r"(size));
  memmove(to, to + 1, size);
}
SITE void copies_whole(void* p) { copies(bytes(p), 100); }
SITE void copies_too_much(void* p) { copies(bytes(p), 101); }
SITE void copies_from_before(void* p) { copies(bytes(p) - 16, 24); }
SITE void moves_too_much(void* p) { moves(bytes(p) + 60, 42); }
SITE void writes_behind_large(void* p) {
  bytes(p)[1000000] = 'A';
  free(p);
}
SITE void writes_behind_and_keeps(void* p) { bytes(p)[103] = 'A'; }
SITE void writes_behind_and_grows(void* p) {
  bytes(p)[100] = 'A';
  escaped = realloc(p, 5000);
}
SITE void writes_before(void* p) {
  bytes(p)[-1] = 'A';
  free(p);
}
SITE void writes_far_before(void* p) {
  memset(bytes(p) - 16, 'A', 16);
  free(p);
}
SITE void writes_far_after_free(void* p) { bytes(p)[500000] = 'A'; }
SITE void reads_far_after_free(void* p) { escaped = reinterpret_cast<void*>(bytes(p)[500000]); }
SITE void zeroes_far_after_free(void* p) { memset(bytes(p) + 400000, 0, 300000); }
SITE void writes_after_free(void* p) { bytes(p)[40] = 'A'; }
// First few that are large wait, going round, then ever more that are small.
SITE void writes_to_every_444th(void*) {
  allocates_often(40000, 5000);
  void* freed[90];
  for (void*& p : freed) {
    allocates_often(443, 100);
    p = malloc(100);
    free(p);
  }
  for (void* p : freed) writes_after_free(p);
}
// Those that wait shortly have left, because others of another size went through. These must not
// lie in the same memory, so a few objects between them stay.
SITE void writes_to_all_20000(void*) {
  static void* freed[20000];
  for (size_t i = 0; i < std::size(freed); ++i) {
    if (i % 200 == 0) escaped = malloc(100);
    freed[i] = malloc(100);
  }
  for (void* p : freed) free(p);
  allocates_often(1000, 1000);
  for (void* p : freed) writes_after_free(p);
}
SITE void writes_after_free_and_works(void* p) {
  bytes(p)[40] = 'A';
  allocates_often(100000, 1000);
  _exit(7);  // nothing is looked at any more
}
SITE void* empty() { return shown(malloc(0)); }
SITE void* empty_array() { return shown(::operator new[](0)); }
SITE void* empty_and_freed() {
  void* p = malloc(0);
  free(p);
  return shown(p);
}
SITE void writes_to_first(void* p) { bytes(p)[0] = 'A'; }
SITE void reads_far(void* p) { escaped = reinterpret_cast<void*>(bytes(p)[100]); }
// The two lie one behind the other, as most that are allocated in turn.
SITE void* runs_over() {
  char* all[8];
  for (char*& p : all) p = bytes(malloc(104));
  for (char* p : all) {
    for (char* next : all) {
      if (next != p + 128) continue;
      p[120] = 'A';
      return shown(next);
    }
  }
  return shown(nullptr);
}
SITE void writes_into_guard(void* p) { bytes(p)[1472] = 'A'; }
SITE void reads_guard(void* p) { escaped = reinterpret_cast<void*>(bytes(p)[1475]); }

SITE void* wiped(void* p) {
  memset(bytes(p) - 16, 0, 16);
  return p;
}
SITE void wipes(void* p) { wiped(p); }

char* page_behind(void* p) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes(p) + (page - reinterpret_cast<uintptr_t>(p) % page);
}
// Behind it nobody may read or write. Printing must not need memory: slabs behind it, say.
SITE void* last_of_many() {
  static char buffer[BUFSIZ];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  unsigned char unused;
  for (int i = 0; i < 100000; ++i) {
    void* const p = malloc(4000);
    if (mincore(page_behind(p), 1, &unused) != 0) return shown(p);
  }
  return shown(nullptr);
}
// Between its slab and where nobody may read lie other objects, and units of the heap that it has
// not used yet.
SITE void* far_from_the_end() {
  void* const p = last_of_many();
  escaped = malloc(20000);
  return p;
}
SITE void writes_upwards(void* p) {
  for (volatile char* at = bytes(p);;) *at++ = 'A';
}
SITE void writes_far_upwards(void* p) { writes_upwards(bytes(p) - 20000); }
SITE void reads_upwards(void* p) {
  for (const volatile char* at = bytes(p);;) static_cast<void>(*at++);
}
SITE void reads_downwards(void* p) {
  for (const volatile char* at = bytes(p);;) static_cast<void>(*--at);
}
SITE void writes_to_own_page(void* p) {
  void* const behind = page_behind(p);
  if (mmap(behind, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == behind) {
    *static_cast<volatile char*>(behind) = 'A';
  }
}

SITE void* nothing() { return nullptr; }
SITE void frees_stack_of_thread(void*) {
  std::thread([] { frees(stack_data()); }).join();
}
SITE void* leaf() { return malloc(100); }
SITE void* first_way() {
  void* p = leaf();
  escaped = p;
  return p;
}
SITE void* second_way() {
  void* p = leaf();
  escaped = p;
  return p;
}
SITE void* two_ways() {
  free(first_way());
  return shown(second_way());
}
SITE void* by_way(uint32_t way, int depth) {
  if (depth == 0) return leaf();
  void* p;
  if (way % 2 != 0) {
    p = by_way(way / 2, depth - 1);
    escaped = p;
  } else {
    p = by_way(way / 2, depth - 1);
    asm volatile("" : "+r"(p));
  }
  return p;
}
SITE void* many_ways() {
  for (uint32_t way = 0; way < 1000; ++way) free(by_way(way, 10));
  return shown(by_way(1000, 10));
}
SITE void frees_twice(void* p) {
  free(p);
  free(p);
}
SITE void frees_often(void* p) {
  for (int i = 0; i < 1000; ++i) free(p);
}
extern "C" {
// No other module can see it.
[[gnu::noinline]] static void frees_in_secret(void* p) { free(p); }
}
SITE void* frees_on_small_stack(void* p) {
  frees(p);
  return p;
}
SITE void starts_small_thread(void* p) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  pthread_t thread;
  pthread_create(&thread, &small, frees_on_small_stack, p);
  pthread_join(thread, nullptr);
}
SITE void frees_in_turn(void* p) {
  std::thread(frees, p).join();
  frees(p);
}
SITE void frees_at_once(void*) {
  constexpr int kRounds = 90;
  std::atomic<void*> common = nullptr;
  std::atomic<int> arrived = 0;  // both threads in each round, and both again once they have freed
  const auto meet = [&](int number) {
    ++arrived;
    while (arrived < number) continue;
  };
  const auto rounds = [&](bool allocates) {
    for (int round = 0; round < kRounds; ++round) {
      if (allocates) common = malloc(100);
      meet(4 * round + 2);
      frees(common);
      meet(4 * round + 4);
    }
  };
  std::thread other(rounds, false);
  rounds(true);
  other.join();
}

namespace {

class Owner {
 public:
  [[gnu::noinline]] static void gives_back(void* p, int times) {
    while (times-- > 0) free(p);
  }
};

void frees_by_method(void* p) { Owner::gives_back(p, 1); }

const std::map<std::string, Fault> kFaults = {
    {"double_free", {freed_allocation, frees}},
    {"double_free_large", {large_freed_allocation, frees}},
    {"double_free_among_many_large", {freed_among_many_large, frees}},
    {"double_free_guarded", {guarded_freed_long_ago, frees}},
    {"double_free_in_turn", {allocation, frees_in_turn}},
    {"double_free_in_static", {freed_allocation, frees_in_secret}},
    {"double_free_in_method", {freed_allocation, frees_by_method}},
    {"double_free_on_small_stack", {freed_allocation, starts_small_thread}},
    {"double_free_at_once", {nothing, frees_at_once}},
    {"free_inside", {allocation, frees_inside}},
    {"free_near", {allocation, frees_near}},
    {"free_inside_large", {large_allocation, frees_inside}},
    {"free_inside_aligned", {aligned_allocation, frees_inside}},
    {"free_before", {allocation, frees_before}},
    {"free_static", {static_data, frees}},
    {"free_stack", {stack_data, frees}},
    {"free_thread_stack", {nothing, frees_stack_of_thread}},
    {"free_unmapped", {unmapped, frees}},
    {"free_inaccessible", {inaccessible, frees}},
    {"free_never_allocated", {far_in_the_heap, frees}},
    {"realloc_static", {static_data, reallocs}},
    {"realloc_inaccessible", {inaccessible, reallocs}},
    {"realloc_inside", {allocation, reallocs_inside}},
    {"realloc_freed", {freed_allocation, reallocs}},
    {"size_of_static", {static_data, asks_size}},
    {"size_of_inaccessible", {inaccessible, asks_size}},
    {"size_of_freed", {freed_allocation, asks_size}},
    {"delete_size", {new_allocation, deletes_64}},
    {"delete_alignment", {aligned_new, deletes_32_aligned}},
    {"delete_of_unaligned", {new_allocation, deletes_32_aligned}},
    {"delete_without_alignment", {aligned_new, deletes}},
    {"free_size", {allocation, frees_64}},
    {"free_alignment", {aligned_allocation, frees_128_aligned}},
    {"free_of_new", {new_allocation, frees}},
    {"delete_of_malloc", {allocation, deletes}},
    {"delete_of_array", {array_allocation, deletes}},
    {"array_delete_of_new", {new_allocation, deletes_array}},
    {"realloc_of_new", {new_allocation, reallocs}},
    {"past_end", {allocation, writes_behind}},
    {"past_end_large", {large_allocation, writes_behind_large}},
    {"past_end_live", {allocation, writes_behind_and_keeps}},
    {"past_end_realloc", {allocation, writes_behind_and_grows}},
    {"before_start", {allocation, writes_before}},
    {"copy", {allocation, copies_whole}},
    {"copy_past_end", {allocation, copies_too_much}},
    {"copy_from_before", {allocation, copies_from_before}},
    {"copy_after_free", {freed_allocation, copies_whole}},
    {"move_past_end", {allocation, moves_too_much}},
    {"far_before_start", {allocation, writes_far_before}},
    {"far_before_start_large", {large_allocation, writes_far_before}},
    {"far_before_start_guarded", {whole_guarded, writes_far_before}},
    {"far_before_start_aligned", {aligned_allocation, writes_far_before}},
    {"far_before_start_realloc", {[] { return wiped(allocation()); }, reallocs}},
    {"far_before_start_live", {allocation, wipes}},
    {"far_before_start_live_large", {large_allocation, wipes}},
    {"far_before_start_live_guarded", {whole_guarded, wipes}},
    {"far_before_start_freed", {freed_allocation, wipes}},
    {"after_free", {freed_allocation, writes_after_free}},
    {"after_free_large", {large_freed_allocation, writes_after_free}},
    {"after_free_large_far", {large_freed_allocation, writes_far_after_free}},
    {"after_free_large_read", {large_freed_allocation, reads_far_after_free}},
    {"after_free_large_zeroed", {large_freed_allocation, zeroes_far_after_free}},
    {"after_free_among_many", {nothing, writes_to_every_444th}},
    {"after_free_of_all", {nothing, writes_to_all_20000}},
    {"after_free_long", {freed_allocation, writes_after_free_and_works}},
    {"jump_over_canary", {runs_over, frees}},
    {"empty_write", {empty, writes_to_first}},
    {"empty_write_after_free", {empty_and_freed, writes_to_first}},
    {"empty_array_read", {empty_array, reads_far}},
    {"empty_double_free", {empty_and_freed, frees}},
    {"guard_write", {whole_guarded, writes_into_guard}},
    {"guard_read", {whole_guarded, reads_guard}},
    {"writes_upwards", {last_of_many, writes_upwards}},
    {"writes_far_upwards", {last_of_many, writes_far_upwards}},
    {"reads_upwards", {last_of_many, reads_upwards}},
    {"reads_far_upwards", {far_from_the_end, reads_upwards}},
    {"reads_downwards", {last_of_many, reads_downwards}},
    {"writes_to_own_page", {last_of_many, writes_to_own_page}},
    {"two_ways", {two_ways, frees_twice}},
    {"many_ways", {many_ways, frees_twice}},
    {"many", {allocation, frees_often}},
};

// 8 KiB, SIGSTKSZ of old, with nothing below.
void give_signals_a_small_stack() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t gap = size_t{64} << 10, bytes = std::max(page, size_t{8192});
  char* const all =
      static_cast<char*>(mmap(nullptr, gap + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(all + gap, bytes, PROT_READ | PROT_WRITE);
  stack_t small{};
  small.ss_sp = all + gap;
  small.ss_size = 8192;
  sigaltstack(&small, nullptr);
}

}  // namespace

int main(int, char** argv) {
  const auto fault = kFaults.find(argv[1]);
  if (fault == kFaults.end()) return 2;
  give_signals_a_small_stack();
  fault->second.commit(fault->second.prepare());
  return 7;
}

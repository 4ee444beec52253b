// SPDX-License-Identifier: MIT
// The handler gives memory away, so that the third attempt succeeds: the address space is limited
// to what a large reserve leaves.
#include <sys/mman.h>
#include <sys/resource.h>

#include <new>

#include "check.h"

namespace {

constexpr size_t kReserve = size_t{1} << 30;
constexpr size_t kWanted = size_t{600} << 20;
void* reserve;
int calls = 0;

void handler() {
  if (++calls == 3) munmap(reserve, kReserve);
  CHECK(calls <= 3);
}

size_t address_space() {
  FILE* statm = fopen("/proc/self/statm", "r");
  size_t pages = 0;
  CHECK(statm != nullptr && fscanf(statm, "%zu", &pages) == 1);
  fclose(statm);
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

template <typename Allocate, typename Release>
void one(Allocate allocate, Release release) {
  reserve = mmap(nullptr, kReserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(reserve != MAP_FAILED);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = address_space() + (size_t{64} << 20);
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  calls = 0;
  void* block = allocate();
  CHECK(block != nullptr && calls == 3);
  release(block);
  limit.rlim_cur = limit.rlim_max;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

}  // namespace

int main() {
  std::set_new_handler(handler);
  const std::align_val_t page{4096};
  const auto plain = [](void* p) { operator delete(p); };
  const auto array = [](void* p) { operator delete[](p); };
  const auto aligned = [&](void* p) { operator delete(p, page); };
  const auto aligned_array = [&](void* p) { operator delete[](p, page); };
  one([] { return operator new(kWanted); }, plain);
  one([] { return operator new[](kWanted); }, array);
  one([] { return operator new(kWanted, std::nothrow); }, plain);
  one([] { return operator new[](kWanted, std::nothrow); }, array);
  one([&] { return operator new(kWanted, page); }, aligned);
  one([&] { return operator new[](kWanted, page, std::nothrow); }, aligned_array);
  return 0;
}

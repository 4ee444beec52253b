// SPDX-License-Identifier: MIT
// Memory that the checked library hands out again, after each way that it can have been freed and
// changed since: written by its former object, given back to the system, cut for another class.
// Nothing may be said of what is behind the new objects.
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kMany = 20'000;
constexpr std::size_t kRare = 40;  // so rare that whole pages between are free

// Objects of `bytes` and then of some bytes less, in the same class; a few stay for a while.
void use(std::size_t bytes, bool trims) {
  std::vector<char*> kept;
  for (const std::size_t less : {0, 5, 0, 3}) {
    std::vector<char*> objects(kMany);
    for (char*& object : objects) {
      object = static_cast<char*>(std::malloc(bytes - less));
      std::memset(object, 'x', bytes - less);
    }
    // Within the space of their class.
    for (char*& object : objects) object = static_cast<char*>(std::realloc(object, bytes - 7));
    for (std::size_t i = 0; i < kMany; ++i) {
      if (i % kRare != 0) {
        std::free(objects[i]);
      } else {
        kept.push_back(objects[i]);
      }
    }
    if (trims) malloc_trim(0);
  }
  for (char* object : kept) std::free(object);
}

// The former owner writes late, to what will be behind the next one's bytes.
void write_late() {
  volatile char* const late = static_cast<char*>(std::malloc(1000));
  std::free(const_cast<char*>(late));
  for (int i = 0; i < 200; ++i) std::free(std::malloc(64));
  late[960] = 'A';
  std::vector<void*> next(100);
  for (void*& object : next) object = std::malloc(900);
  for (void* object : next) std::free(object);
}

}  // namespace

int main(int arguments, char**) {
  if (arguments > 1) write_late();
  for (const bool trims : {true, false}) {
    for (const std::size_t bytes : {100, 40, 200, 72, 1000, 56, 2000, 120, 100}) use(bytes, trims);
  }
}

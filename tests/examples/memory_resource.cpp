// SPDX-License-Identifier: MIT
// std::pmr containers: one type whatever the memory comes from.
#include <pktmalloc.hpp>

#include <cstdio>
#include <memory_resource>
#include <string>
#include <vector>

int main() {
  std::pmr::vector<std::pmr::string> names(pktmalloc::resource());
  for (int i = 0; i < 1000; ++i)
    names.emplace_back("a name that is too long for the string itself");
  // A buffer that is released at once may stand before it.
  std::pmr::monotonic_buffer_resource buffer(4096, pktmalloc::resource());
  std::pmr::vector<int> numbers(1000, 7, &buffer);
  std::printf("%zu %d\n", names.size(), numbers.back());
}

// SPDX-License-Identifier: MIT
// Standard containers whose nodes are taken from the thread's own lists without a call.
// Compile with -std=c++17 or later; link with the library, preload it, or run without.
#include <pktmalloc.hpp>

#include <cstdio>
#include <list>
#include <map>
#include <string>
#include <unordered_map>

template <typename Key, typename Value>
using Map = std::map<Key, Value, std::less<Key>, pktmalloc::allocator<std::pair<const Key, Value>>>;

template <typename Key, typename Value>
using HashMap = std::unordered_map<Key, Value, std::hash<Key>, std::equal_to<Key>,
                                   pktmalloc::allocator<std::pair<const Key, Value>>>;

template <typename T>
using List = std::list<T, pktmalloc::allocator<T>>;

int main() {
  Map<std::string, int> by_name;
  HashMap<int, std::string> by_number;
  List<int> in_order;
  for (int i = 0; i < 10000; ++i) {
    const std::string name = "flow " + std::to_string(i);
    by_name[name] = i;
    by_number[i] = name;
    in_order.push_back(i);
  }
  for (int i = 0; i < 10000; i += 2) {
    by_name.erase(by_number[i]);
    by_number.erase(i);
  }
  in_order.remove_if([](int i) { return i % 2 == 0; });
  std::printf("%zu %zu %zu\n", by_name.size(), by_number.size(), in_order.size());
}

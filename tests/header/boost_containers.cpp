// SPDX-License-Identifier: MIT
// pktmalloc::allocator in boost's containers, pointers and queues: each kind that rebinds, converts
// or copies an allocator in its own way. Prints what it counted.
#include <pktmalloc.hpp>

#include <boost/circular_buffer.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/set.hpp>
#include <boost/container/slist.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/stack.hpp>
#include <boost/make_shared.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index_container.hpp>
#include <boost/smart_ptr/allocate_shared_array.hpp>
#include <boost/unordered_map.hpp>

#include <cstdio>
#include <functional>
#include <utility>

namespace {

template <typename T>
using Allocator = pktmalloc::allocator<T>;
using Pair = std::pair<const int, int>;
namespace container = boost::container;
namespace index = boost::multi_index;

struct Entry {
  int key, group;
};
using Entries = boost::multi_index_container<
    Entry,
    index::indexed_by<index::ordered_unique<index::member<Entry, int, &Entry::key>>,
                      index::hashed_non_unique<index::member<Entry, int, &Entry::group>>>,
    Allocator<Entry>>;

constexpr int kEntries = 2000;

}  // namespace

int main() {
  container::list<int, Allocator<int>> list;
  container::slist<int, Allocator<int>> single;
  container::stable_vector<int, Allocator<int>> stable;
  container::map<int, int, std::less<int>, Allocator<Pair>> map;
  container::flat_map<int, int, std::less<int>, Allocator<std::pair<int, int>>> flat;
  container::set<int, std::less<int>, Allocator<int>> set;
  boost::unordered_map<int, int, boost::hash<int>, std::equal_to<int>, Allocator<Pair>> hashed;
  Entries entries;
  boost::lockfree::queue<int, boost::lockfree::allocator<Allocator<int>>> queue(64);
  boost::lockfree::stack<int, boost::lockfree::allocator<Allocator<int>>> stack(64);
  boost::circular_buffer<int, Allocator<int>> ring(kEntries / 2);
  for (int i = 0; i < kEntries; ++i) {
    list.push_back(i);
    single.push_front(i);
    stable.push_back(i);
    map[i] = flat[i] = hashed[i] = i;
    set.insert(i);
    entries.insert({i, i % 7});
    queue.push(i);
    stack.push(i);
    ring.push_back(i);
  }
  const auto shared = boost::allocate_shared<Entry>(Allocator<Entry>(), Entry{1, 2});
  const auto array = boost::allocate_shared<int[]>(Allocator<int>(), 100);
  auto more = list;
  more.splice(more.end(), list);
  for (int i = 0; i < kEntries; i += 2) {
    map.erase(i);
    entries.erase(i);
  }
  long left = 0;
  for (int i = 0; queue.pop(i);) left += i;
  for (int i = 0; stack.pop(i);) left -= i;
  std::printf("%zu %zu %zu %zu %zu %zu %zu %zu %ld\n", more.size(), stable.size(), map.size(),
              flat.size(), set.size(), hashed.size(), entries.size(), ring.size(),
              left + shared->key + array[99]);
}

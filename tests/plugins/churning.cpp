// SPDX-License-Identifier: MIT
// Allocates when loaded, when unloaded, and in thread_local objects of every thread that touches
// it.
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Load {
  std::vector<std::unique_ptr<std::string>> strings;
  Load() { grow(); }
  ~Load() {
    for (const auto& s : strings) {
      if (s->size() < 50 || s->back() != 'x') abort();
    }
    strings.clear();
    grow();
  }
  void grow() {
    for (int i = 0; i < 500; ++i) {
      strings.push_back(std::make_unique<std::string>(50 + i * 7, 'x'));
    }
  }
};

Load load;
thread_local Load load_of_thread;
std::mutex mutex;
std::map<int, std::string> map{{1, "one"}, {2, "two"}};

}  // namespace

extern "C" int touch() {
  load_of_thread.grow();
  const std::lock_guard lock(mutex);
  map[static_cast<int>(map.size())] = std::string(100, 'y');
  return static_cast<int>(load_of_thread.strings.size());
}

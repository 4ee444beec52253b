// SPDX-License-Identifier: MIT
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

std::atomic<int> destroyed = 0;

struct Holder {
  std::vector<std::string> strings;
  explicit Holder(size_t n) : strings(n, std::string(n + 20, 'a')) {}
  ~Holder() {
    for (const auto& s : strings) CHECK(s.back() == 'a');
    std::vector<std::string> more(200, std::string(333, 'b'));
    strings = more;
    ++destroyed;
  }
};

thread_local Holder first(100);
thread_local Holder second(1000);

struct Late {
  ~Late() { first.strings.emplace_back(500, 'a'); }
};

void touch() {
  second.strings.emplace_back(2000, 'a');
  thread_local Late late;
  (void)&late;
  first.strings.emplace_back(10000, 'a');
}

}  // namespace

int main() {
  for (int round = 0; round < 50; ++round) {
    std::thread one(touch), two(touch);
    one.join();
    two.join();
  }
  CHECK(destroyed == 200);
  touch();
  return 0;
}

// SPDX-License-Identifier: MIT
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

int descend(int depth, std::vector<std::unique_ptr<std::string>>& kept) {
  auto here = std::make_unique<std::string>(static_cast<size_t>(depth) * 40, 'x');
  if (depth == 40) throw std::runtime_error(std::string(1000, 'e'));
  if (depth % 5 == 0) kept.push_back(std::make_unique<std::string>(*here));
  return descend(depth + 1, kept) + static_cast<int>(here->size());
}

void run() {
  for (int i = 0; i < 300; ++i) {
    std::vector<std::unique_ptr<std::string>> kept;
    try {
      descend(1, kept);
      CHECK(false);
    } catch (const std::exception& e) {
      CHECK(std::string(e.what()) == std::string(1000, 'e'));
    }
    CHECK(kept.size() == 7 && kept.back()->size() == 35 * 40);
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(run);
  for (auto& thread : threads) thread.join();
  return 0;
}

// SPDX-License-Identifier: MIT
// A correct program that uses much: threads that free each other's objects, containers, exceptions,
// aligned objects, realloc, objects of no bytes, a fork. Prints a sum.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct alignas(128) Wide {
  uint64_t value = 0;
};

std::mutex mutex;
std::deque<std::shared_ptr<std::string>> queue;
uint64_t sum = 0;

void work(int seed) {
  std::map<int, std::unique_ptr<Wide>> wide;
  for (int i = 0; i < 5000; ++i) {
    wide[i % 97] = std::make_unique<Wide>(Wide{static_cast<uint64_t>(seed + i)});
    char* text = static_cast<char*>(calloc(1, 10 + i % 300));
    text = static_cast<char*>(realloc(text, 400 + i % 5000));
    strcpy(text, std::to_string(i * seed).c_str());
    std::shared_ptr<std::string> from_another;
    {
      const std::lock_guard lock(mutex);
      queue.push_back(std::make_shared<std::string>(text));
      if (queue.size() > 50) {
        sum += queue.front()->size();
        from_another = std::move(queue.front());
        queue.pop_front();
      }
    }
    free(text);
    try {
      if (i % 100 == 0) throw std::runtime_error("thrown " + std::to_string(i));
    } catch (const std::exception& e) {
      if (strlen(e.what()) < 8) abort();
    }
  }
}

// More than there are guarded ones.
void empty_objects() {
  std::set<void*> all;
  for (int i = 0; i < 3000; ++i) {
    void* p = i % 3 == 0 ? malloc(0) : i % 3 == 1 ? calloc(0, 8) : ::operator new(0);
    if (p == nullptr || malloc_usable_size(p) > 24 || !all.insert(p).second) abort();
    if (i % 3 == 2) {
      ::operator delete(p);
      all.erase(p);
    }
  }
  for (void* p : all) {
    char* larger = static_cast<char*>(realloc(p, 100));
    strcpy(larger, "now there is room");
    free(larger);
  }
}

}  // namespace

int main() {
  empty_objects();
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) threads.emplace_back(work, t);
  const pid_t child = fork();
  if (child == 0) {
    auto text = std::make_unique<std::string>(1000, 'x');
    std::vector<int> many(100000, 3);
    // Not exit(): another thread may have been changing the queue, which that would destroy.
    _exit(text->size() + many.size() == 101000 ? 5 : 6);
  }
  for (std::thread& thread : threads) thread.join();
  int status = 0;
  waitpid(child, &status, 0);
  for (const auto& text : queue) sum += text->size();
  queue.clear();
  printf("%d %llu\n", WEXITSTATUS(status), static_cast<unsigned long long>(sum));
  return 3;
}

// SPDX-License-Identifier: MIT
// `holds_known_types [WAIT]`: has objects of known types and numbers; with WAIT says "ready PID" on
// stdout and stays. What it frees lies in magazines of this thread, of one that waits, and of one
// that ended, and counts nowhere. WAIT is `grows` for a program that makes 1000 more Packets at
// each SIGUSR1 and says "grown"; `maps` for one that has 200 executable mappings of one file.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "check.h"

struct Packet {
  virtual ~Packet() = default;
  char bytes[1492] = {};
};
struct Named {
  virtual ~Named() = default;
  int name = 1;
};
struct Placed {
  virtual ~Placed() = default;
  int place = 2;
};
struct Both final : Named, Placed {
  char bytes[200] = {};
};
struct Shared : virtual Placed {
  char bytes[300] = {};
};
template <typename Value>
struct Holder {
  virtual ~Holder() = default;
  Value value{};
};
namespace {
struct Hidden {
  virtual ~Hidden() = default;
  char bytes[72] = {};
};
}  // namespace
struct Plain {
  char bytes[5000];
};
struct Text {
  char bytes[3000];
};
// What it begins with leads to a function, but to no table of functions.
static void act() {}
struct Message {
  void (*function)();
  const char* text;
};
static const Message message = {act, "a text"};
struct Worded {
  const Message* volatile first = &message;
};

static std::vector<Packet*> freed;
static std::atomic<bool> has_freed{false};

template <typename Object>
static std::vector<Object*> make(size_t count) {
  std::vector<Object*> objects;
  objects.reserve(count);
  for (size_t i = 0; i < count; ++i) objects.push_back(new Object);
  return objects;
}

template <typename Object>
static void free_all(std::vector<Object*>& objects) {
  for (Object* object : objects) delete object;
  objects.clear();
}

static std::array<void* volatile, 16> held;
template <typename Objects>
static void hold(size_t place, Objects objects) {
  held[place] = new Objects(std::move(objects));
}

static void stay(bool grows) {
  sigset_t set;
  CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
  for (;;) {
    int signal = 0;
    CHECK(sigwait(&set, &signal) == 0);
    if (!grows) continue;
    hold(15, make<Packet>(1000));
    CHECK(write(1, "grown\n", 6) == 6);
  }
}

int main(int argc, char** argv) {
  sigset_t set;
  CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  hold(0, make<Packet>(1000));
  hold(1, make<Both>(300));
  hold(2, make<Shared>(200));
  hold(3, make<Hidden>(600));
  hold(4, make<Holder<std::vector<int>>>(50));
  std::vector<std::shared_ptr<Packet>> made;
  std::vector<std::shared_ptr<Packet>> taken;
  std::vector<std::shared_ptr<int>> numbers;
  for (int i = 0; i < 500; ++i) made.push_back(std::make_shared<Packet>());
  for (int i = 0; i < 100; ++i) taken.emplace_back(new Packet);
  for (int i = 0; i < 400; ++i) numbers.push_back(std::make_shared<int>(i));
  hold(5, std::move(made));
  hold(6, std::move(taken));
  hold(7, std::move(numbers));
  std::vector<Plain*> plain = make<Plain>(70);
  for (Plain* one : plain) memset(one, 0x11, sizeof *one);
  hold(8, std::move(plain));
  std::vector<Text*> texts = make<Text>(30);
  for (Text* one : texts) strcpy(one->bytes, "the quick brown fox");
  hold(9, std::move(texts));

  hold(10, make<Worded>(20));

  std::vector<Packet*> of_others = make<Packet>(700);
  std::thread([] {
    std::vector<Packet*> mine = make<Packet>(300);
    free_all(mine);
  }).join();
  if (argc > 1) {
    std::thread([&] {
      free_all(of_others);
      has_freed = true;
      for (;;) pause();  // the signal is for the other thread
    }).detach();
    while (!has_freed) std::this_thread::yield();
  } else {
    free_all(of_others);
  }
  std::vector<Packet*> mine = make<Packet>(90);
  free_all(mine);
  if (argc == 1) return 0;
  if (strcmp(argv[1], "maps") == 0) {
    const int file = open("/etc/passwd", O_RDONLY);
    for (int i = 0; i < 200; ++i) {
      CHECK(mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) != MAP_FAILED);
    }
  }
  char line[32];
  const int length = snprintf(line, sizeof line, "ready %d\n", getpid());
  CHECK(write(1, line, static_cast<size_t>(length)) == length);
  stay(strcmp(argv[1], "grows") == 0);
}

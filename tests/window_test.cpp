// SPDX-License-Identifier: MIT
// `pktmalloc stat` of processes whose Window is of another schema, nonsense, or leads astray.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "preload/formats/live_window.h"
#include "tests/program.h"
#include "tests/refused.h"
#include "tests/running.h"
#include "tests/temporary_folder.h"

namespace {

using pktmalloc::Window;

static_assert(sizeof(pktmalloc::Cache) == 5504 && pktmalloc::kWindowSchema == 13,
              "another layout needs another schema");

// Of words 0xfa4e0000xxxxxxxx tests/plugins/window.cpp makes addresses xxxxxxxx bytes behind the
// Window.
constexpr uint64_t here(uint64_t offset) { return uint64_t{0xfa4e0000} << 32 | offset; }
constexpr size_t kBlockBytes = 1 << 17;

// A heap of one class whose counters lie behind the Window.
Window small_window() {
  Window w{};
  w.magic = pktmalloc::kWindowMagic;
  w.schema = pktmalloc::kWindowSchema;
  w.bytes = sizeof w;
  strcpy(w.version, "9.8.7");
  strcpy(w.program, "faked");
  w.passed = w.forks = here(8192);
  pktmalloc::HeapWindow& h = w.heap;
  h.classes = 1;
  for (uint64_t& bytes : h.object_bytes) bytes = 64;
  for (uint64_t& bytes : h.slab_bytes) bytes = 1 << 16;
  for (uint64_t& area : h.areas) area = here(8192);
  for (uint64_t& share : h.shares) share = here(8192);
  h.units = h.pool = h.magazine_pool = h.states_bytes = here(8192);
  h.caches = h.cache_committed_bytes = h.waiting_bytes = here(8192);
  h.direct_allocs = h.aged = h.outside = h.threads_seen = h.threads_alive = here(8192);
  h.map = h.magazines = h.magazine_units = h.depots = h.ageing = here(8192);
  h.records = here(12288);
  h.chapter_bytes = 4096;
  return w;
}

// `stat`, or this command, of a process with this window and whatever lies behind it.
Outcome stat_of_faked(const Window& window, std::string behind = "",
                      std::vector<std::string> command = {"stat"}) {
  TemporaryFolder folder;
  behind.insert(0, reinterpret_cast<const char*>(&window), sizeof window);
  folder.write("window", behind);
  const std::string library = folder / "libpktmalloc-faked.so";
  std::filesystem::copy_file(build_path("tests/plugins/window.so"), library);
  Running program({"sh", "-c", "echo ready; read nothing </dev/zero"},
                  {{"LD_PRELOAD", library}, {"WINDOW", folder / "window"}});
  program.line("ready");
  command.insert(command.begin(), build_path("pktmalloc"));
  command.push_back(std::to_string(program.pid()));
  return Program(command).run();
}

}  // namespace

TEST_CASE("a window of another schema is told, with both numbers") {
  Window window = small_window();
  CHECK(stat_of_faked(window).status == 0);
  window.schema = pktmalloc::kWindowSchema + 1;
  window.bytes = 4711;
  check_refused(stat_of_faked(window),
                "has pktmalloc 9.8.7 with window schema " + std::to_string(window.schema) +
                    "; this pktmalloc reads schema " + std::to_string(pktmalloc::kWindowSchema));
  for (const std::string subcommand : {"objects", "leaks"}) {
    check_refused(stat_of_faked(window, "", {subcommand}),
                  "has pktmalloc 9.8.7 with window schema");
  }
}

TEST_CASE("a window that makes no sense is refused") {
  const auto refused = [](auto change) {
    Window window = small_window();
    change(window);
    check_refused(stat_of_faked(window), "make no sense");
  };
  refused([](Window& w) { w.bytes = 100; });
  refused([](Window& w) { w.heap.classes = pktmalloc::kMaxClasses; });
}

TEST_CASE("a list of caches that has no end is left") {
  Window window = small_window();
  std::string behind(kBlockBytes - sizeof window, '\0');
  const auto put = [&](uint64_t offset, uint64_t word) {
    memcpy(behind.data() + offset - sizeof window, &word, sizeof word);
  };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // which is what every compiler has
  const uint64_t next = offsetof(pktmalloc::Cache, next);
#pragma GCC diagnostic pop
  window.heap.caches = here(14336);
  window.heap.cache_committed_bytes = here(14344);
  put(14336, here(16384));                             // the first cache
  put(14344, uint64_t{1} << 60);                       // bytes of all
  put(16384 + next, here(16384));                      // is its own next
  put(16384 + pktmalloc::Cache::kAllocatedAt + 8, 5);  // objects that it handed out
  const Outcome itself = stat_of_faked(window, behind);
  INFO(itself);
  CHECK(itself.status == 0);
  CHECK(itself.out.find(": 5 allocs, 5 frees\n") != std::string::npos);
  put(16384 + next, here(32768));  // one behind, which leads back
  put(32768 + next, here(16384));
  CHECK(stat_of_faked(window, behind).status == 0);
}

TEST_CASE("of a heap that pools nothing nothing else is looked at") {
  Window window = small_window();
  memset(&window.heap, 0xff, sizeof window.heap);
  window.heap.classes = 0;
  for (const std::string command : {"stat", "objects", "leaks"}) {
    const Outcome outcome = stat_of_faked(window, "", {command});
    INFO(outcome);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("no window makes the reader fail or hang") {
  std::mt19937_64 random(20261121);
  for (int run = 0; run < 90; ++run) {
    Window window = small_window();
    const auto any = [&]() -> uint64_t {
      const uint64_t kind = random() % 4;
      return kind == 0 ? here(random() % kBlockBytes) : kind == 1 ? random() : random() % 5000;
    };
    window.heap.classes = random() % pktmalloc::kMaxClasses;
    auto* const words = reinterpret_cast<uint64_t*>(&window);
    for (size_t i = offsetof(Window, passed) / 8; i < sizeof window / 8; ++i) {
      if (random() % (run % 10 + 2) == 0) words[i] = any();
    }
    std::string behind(kBlockBytes - sizeof window, '\0');
    for (size_t i = 0; i + 8 <= behind.size(); i += 8) {
      const uint64_t word = any();
      memcpy(behind.data() + i, &word, sizeof word);
    }
    static const std::vector<std::string> kCommands[] = {
        {"stat"}, {"objects", "--running"}, {"leaks"}};
    const std::vector<std::string>& command = kCommands[run % 3];
    const Outcome outcome = stat_of_faked(window, behind, command);
    INFO(run << ": " << command[0] << ": " << outcome);
    CHECK((outcome.status == 0 || outcome.status == 2));
    CHECK((outcome.status == 2) == (outcome.err.find("make no sense") != std::string::npos));
  }
}

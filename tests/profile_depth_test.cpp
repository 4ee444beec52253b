// SPDX-License-Identifier: MIT
// How deep the stacks of a heap profile are, and what is told of those that are deeper.
#include <catch2/catch.hpp>

#include <sstream>
#include <string>
#include <vector>

#include "tests/heap_profile.h"
#include "tests/refused.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

const std::string kCut = "[deeper than is recorded];";

// recurse() calls itself 200 times, then allocates; flat() is called by main. The many ways that
// lead to winding() are found by steps that are known by then.
const char kProgram[] = R"(
  #include <stdlib.h>
  void* volatile kept;
  __attribute__((noinline)) void recurse(int n) {
    if (n == 0) kept = malloc(1000); else recurse(n - 1);
    __asm__ volatile("");
  }
  __attribute__((noinline)) void flat(void) { kept = malloc(500); __asm__ volatile(""); }
  void winding(int n, unsigned way);
  __attribute__((noinline)) void left(int n, unsigned way) { winding(n, way); __asm__ volatile(""); }
  __attribute__((noinline)) void right(int n, unsigned way) { winding(n, way); __asm__ volatile(""); }
  __attribute__((noinline)) void winding(int n, unsigned way) {
    if (n == 0) kept = malloc(700);
    else if ((way >> n % 8) % 2 == 0) left(n - 1, way);
    else right(n - 1, way);
    __asm__ volatile("");
  }
  int main(void) {
    recurse(200); recurse(30); flat();
    for (unsigned way = 0; way < 50; ++way) winding(90, way);
  }
)";

std::string compiled(const TemporaryFolder& folder, const std::string& option) {
  folder.write("a.c", kProgram);
  REQUIRE(Program({"gcc", "-O1", option, folder / "a.c", "-o", folder / "a"}).run().clean());
  return folder / "a";
}

void make_profile(const TemporaryFolder& folder, const std::string& program,
                  const std::string& depth, const std::string& stacks = "unwind") {
  Program profiling = profiled({program}, folder / "heap");
  if (!depth.empty()) profiling.with("PKTMALLOC_PROFILE_DEPTH", depth);
  const Outcome outcome = profiling.with("PKTMALLOC_PROFILE_STACKS", stacks).run();
  INFO(outcome);
  REQUIRE(outcome.clean());
}

struct Stack {
  unsigned frames = 0;
  bool is_cut = false;
};

// That of the live objects of so many bytes.
Stack stack_of(const TemporaryFolder& folder, unsigned bytes) {
  std::istringstream file(folder.read("heap"));
  Stack stack;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line[0] != '#') inside = line.find("1: " + std::to_string(bytes) + " [") == 0;
    if (!inside) continue;
    if (line[0] != '#')
      stack.frames = static_cast<unsigned>(std::count(line.begin(), line.end(), 'x'));
    stack.is_cut |= line == "# cut";
  }
  return stack;
}

std::string collapsed(const TemporaryFolder& folder) {
  const Outcome outcome = command({"--collapsed", folder / "heap"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  return outcome.out;
}

}  // namespace

TEST_CASE("a stack that is deeper than is recorded is marked, under one root") {
  TemporaryFolder folder;
  for (const std::string stacks : {"unwind", "frame_pointers"}) {
    const std::string program = compiled(folder, "-fno-omit-frame-pointer");
    for (const std::string depth : {"16", "100"}) {
      INFO(stacks << " " << depth);
      make_profile(folder, program, depth, stacks);
      const std::string text = collapsed(folder);
      INFO(text);
      CHECK(has("\n" + text, "\n" + kCut + "recurse;recurse;"));
      CHECK(!has(text, kCut + "main"));
      const size_t flat = text.find(";flat ");
      REQUIRE(flat != std::string::npos);
      const std::string line = text.substr(text.rfind('\n', flat) + 1, flat);
      CHECK(!has(line.substr(0, line.find('\n')), kCut));
      // The shallower recursion is whole at 100.
      const bool whole = has(text, "main;recurse;recurse;");
      CHECK(whole == (depth == "100"));
      CHECK(has(command({"--frames", "300", folder / "heap"}).out,
                "    [deeper than is recorded]\n"));
    }
  }
}

TEST_CASE("stacks that were found without the unwinder are marked, too") {
  TemporaryFolder folder;
  make_profile(folder, compiled(folder, "-fomit-frame-pointer"), "16");
  unsigned ways = 0;
  for (const std::string& line : lines(collapsed(folder))) {
    if (!has(line, ";winding")) continue;
    ++ways;
    CHECK(line.find(kCut) == 0);
  }
  CHECK(ways > 10);
}

TEST_CASE("the deepest that can be asked for holds what the default cuts") {
  TemporaryFolder folder;
  const std::string program = compiled(folder, "-fomit-frame-pointer");
  make_profile(folder, program, "");
  CHECK(has(collapsed(folder), kCut));
  make_profile(folder, program, "256");
  CHECK(!has(collapsed(folder), kCut));
  CHECK(has(collapsed(folder), "main;recurse;recurse;"));
}

TEST_CASE("a stack of just as many frames as are recorded is whole") {
  TemporaryFolder folder;
  const std::string program = compiled(folder, "-fomit-frame-pointer");
  make_profile(folder, program, "256");
  const unsigned frames = stack_of(folder, 500).frames;
  REQUIRE(frames >= 5);
  CHECK(!stack_of(folder, 500).is_cut);
  make_profile(folder, program, std::to_string(frames));
  CHECK(stack_of(folder, 500).frames == frames);
  CHECK(!stack_of(folder, 500).is_cut);
  CHECK(has(collapsed(folder), kCut + "recurse;"));
  make_profile(folder, program, std::to_string(frames - 1));
  CHECK(stack_of(folder, 500).frames == frames - 1);
  CHECK(stack_of(folder, 500).is_cut);
}

TEST_CASE("page and pprof show what is cut, too") {
  TemporaryFolder folder;
  make_profile(folder, compiled(folder, "-fomit-frame-pointer"), "16");
  REQUIRE(command({"--html", folder / "page.html", "--pprof", folder / "out.pb", folder / "heap"})
              .clean());
  CHECK(has(folder.read("page.html"), R"(["[deeper than is recorded]",)"));
  CHECK(has(folder.read("out.pb"), "[deeper than is recorded]"));
}

TEST_CASE("files of libraries that recorded 32 frames are marked by their look") {
  TemporaryFolder folder;
  std::string frames;
  for (int i = 0; i < 31; ++i) frames += " 0x" + std::to_string(1000 + i);
  folder.write("heap",
               "heap profile: 1: 100 [1: 100] @ heapprofile\n"
               "# pktmalloc 0.1.0: old, process 7\n# rate 1 lost 0\n1: 100 [1: 100] @" +
                   frames + "\n# samples 1 1 errors 0 0\n\nMAPPED_LIBRARIES:\n# end\n");
  CHECK(collapsed(folder).find(kCut) == 0);
}

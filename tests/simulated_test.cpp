// SPDX-License-Identifier: MIT
// The simulated core of tools/bench/simulated, part by part, and the program that reads a trace.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/program.h"
#include "tests/temporary_folder.h"
#include "tools/bench/simulated/coherence.h"
#include "tools/bench/simulated/core.h"
#include "tools/bench/simulated/memory_calls.h"

using namespace simulated;

namespace {

constexpr std::uint64_t kPage = 1 << kPageShift;

std::size_t entries_of_walk(PageTables& tables, std::uint64_t page) {
  std::size_t count = 0;
  tables.walk(page, [&](TableEntry) { ++count; });
  return count;
}

// One load in each of so many places.
void touch(Core& core, std::size_t count, std::uint64_t distance) {
  for (std::size_t i = 0; i < count; ++i) core.reference(i * distance, 8);
}

}  // namespace

TEST_CASE("of a full set the key goes that was used longest ago") {
  SetAssociative set({1, 2});
  CHECK(!set.access(1));
  CHECK(!set.access(2));
  CHECK(set.access(1));
  CHECK(!set.access(3));  // in the place of 2
  CHECK(set.access(1));
  CHECK(!set.access(2));  // in the place of 3
  CHECK(!set.access(3));
}

TEST_CASE("keys of one set displace each other, those of another set do not") {
  SetAssociative sets({4, 2});
  for (std::uint64_t key : {0, 4, 8}) CHECK(!sets.access(key));
  CHECK(!sets.access(1));
  CHECK(!sets.access(0));  // three keys, two places
  CHECK(sets.access(1));
}

TEST_CASE("a key that is forgotten is missed, and the others stay") {
  SetAssociative set({1, 3});
  for (std::uint64_t key : {1, 2, 3}) set.access(key);
  set.forget(2);
  CHECK(set.access(1));
  CHECK(set.access(3));
  CHECK(!set.access(2));
}

TEST_CASE("a walk reads four entries, and below a remembered one only what is left") {
  PageTables tables;
  CHECK(entries_of_walk(tables, 0) == 4);
  CHECK(entries_of_walk(tables, 1) == 1);           // the same table of the lowest level
  CHECK(entries_of_walk(tables, 1 << 9) == 2);      // the next one
  CHECK(entries_of_walk(tables, 1 << 18) == 3);     // another gibibyte
  CHECK(entries_of_walk(tables, 1ull << 27) == 4);  // another half tebibyte
  CHECK(entries_of_walk(tables, (1ull << 27) + 1) == 1);
}

TEST_CASE("each cache holds what its size says, and no more") {
  const std::size_t first = kFirstCache.sets * kFirstCache.ways;
  const std::size_t second = kSecondCache.sets * kSecondCache.ways;
  const std::size_t last = kLastCache.sets * kLastCache.ways;
  const auto misses_of_second_round = [](std::size_t lines) {
    Caches caches;
    CacheMisses cold, warm;
    for (std::uint64_t line = 0; line < lines; ++line) caches.access(line, cold);
    for (std::uint64_t line = 0; line < lines; ++line) caches.access(line, warm);
    CHECK(cold.last == lines);
    return std::vector{warm.first, warm.second, warm.last};
  };
  using Misses = std::vector<std::uint64_t>;
  CHECK(misses_of_second_round(first) == Misses{0, 0, 0});
  CHECK(misses_of_second_round(second) == Misses{second, 0, 0});
  CHECK(misses_of_second_round(last) == Misses{last, last, 0});
  CHECK(misses_of_second_round(2 * last) == Misses{2 * last, 2 * last, 2 * last});
}

TEST_CASE("the reach of the TLBs is that of their entries") {
  const std::size_t first = kFirstTlb.sets * kFirstTlb.ways;
  const std::size_t second = kSecondTlb.sets * kSecondTlb.ways;
  const auto misses_of_second_round = [](std::size_t pages) {
    Core core;
    touch(core, pages, kPage);
    const TranslationCounts before = core.translation();
    touch(core, pages, kPage);
    return std::vector{core.translation().first_misses - before.first_misses,
                       core.translation().second_misses - before.second_misses};
  };
  CHECK(misses_of_second_round(first) == std::vector<std::uint64_t>{0, 0});
  CHECK(misses_of_second_round(2 * first) == std::vector<std::uint64_t>{2 * first, 0});
  CHECK(misses_of_second_round(second)[1] == 0);
  CHECK(misses_of_second_round(2 * second)[1] > second);
}

TEST_CASE("pages a gibibyte apart share one set of the TLB, neighbours do not") {
  const std::size_t pages = kSecondTlb.ways + 1;
  Core apart, together;
  for (int round = 0; round < 2; ++round) {
    touch(apart, pages, std::uint64_t{1} << 30);
    touch(together, pages, kPage);
  }
  CHECK(apart.translation().second_misses == 2 * pages);
  CHECK(together.translation().second_misses == pages);
}

TEST_CASE("a first walk in two dimensions reads 24 entries at most") {
  Core core;
  core.reference(0, 8);
  CHECK(core.translation().walk_references > 4);
  CHECK(core.translation().walk_references <= 24);
  CHECK(core.translation().walk_misses.first > 0);
}

TEST_CASE("a reference across two pages looks both up") {
  Core core;
  core.reference(kPage - 4, 8);
  CHECK(core.references() == 1);
  CHECK(core.translation().second_misses == 2);
  CHECK(core.data_misses().first == 2);
}

TEST_CASE("a page that was given back is a fault when it is touched again") {
  Core core;
  touch(core, 3, kPage);
  CHECK(core.translation().page_faults == 3);
  core.release(kPage - 1, kPage + 1);  // the second page, and one byte of the first
  touch(core, 3, kPage);
  CHECK(core.translation().page_faults == 4);
  core.release(0, std::uint64_t{1} << 46);
  touch(core, 3, kPage);
  CHECK(core.translation().page_faults == 7);
}

TEST_CASE("calls that give memory back are known in a trace") {
  MemoryCalls calls;
  const auto released = [&](const char* line) {
    const std::optional<Range> range = calls.released(line);
    return range ? std::vector{range->address, range->bytes} : std::vector<std::uint64_t>{};
  };
  using Words = std::vector<std::uint64_t>;
  CHECK(released("SYSCALL[1,1](11) sys_munmap ( 0x10000, 8192 )[sync] --> Success(0x0) ") ==
        Words{0x10000, 8192});
  CHECK(released("SYSCALL[1,2](28) sys_madvise ( 0x20000, 4096, 4 ) --> [async] ... ") ==
        Words{0x20000, 4096});
  CHECK(released("SYSCALL[1,2](28) sys_madvise ( 0x20000, 4096, 14 ) --> [async] ... ").empty());
  CHECK(released("SYSCALL[1,1](9) sys_mmap ( 0x30000, 4096, 3, 50, 4294967295, 0 ) ") ==
        Words{0x30000, 4096});
  CHECK(released("SYSCALL[1,1](9) sys_mmap ( 0x0, 4096, 3, 34, 4294967295, 0 ) ").empty());
  CHECK(released("SYSCALL[1,1](12) sys_brk ( 0x0 ) --> ").empty());
  CHECK(released("SYSCALL[1,1](12) sys_brk ( 0x50000 ) --> ").empty());
  CHECK(released("SYSCALL[1,1](12) sys_brk ( 0x40000 ) --> ") == Words{0x40000, 0x10000});
}

TEST_CASE("a line crosses when another processor wrote it, or has it when it is written") {
  Coherence coherence(4, 2);
  Crossings lines;
  const auto now = [&] { return std::pair(lines.near, lines.far); };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  coherence.reference(7, 0, false, lines);
  coherence.reference(7, 0, true, lines);
  CHECK(now() == Pair{0, 0});
  coherence.reference(7, 1, false, lines);  // from 0, in the same node
  CHECK(now() == Pair{1, 0});
  coherence.reference(7, 1, false, lines);
  coherence.reference(7, 0, false, lines);
  CHECK(now() == Pair{1, 0});
  coherence.reference(7, 3, false, lines);  // from 0, in the other node
  CHECK(now() == Pair{1, 1});
  coherence.reference(7, 1, true, lines);  // takes it from 0 and 3
  CHECK(now() == Pair{1, 2});
  coherence.reference(7, 3, true, lines);
  coherence.reference(7, 2, true, lines);
  CHECK(now() == Pair{2, 3});
  coherence.reference(8, 2, true, lines);
  CHECK(now() == Pair{2, 3});
}

TEST_CASE("which lines come from another node, and that divided homes keep objects in theirs") {
  const auto play = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), build_path("bench/crossings"));
    return Program(arguments).run();
  };
  const auto counted = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = play(arguments);
    INFO(outcome);
    REQUIRE(outcome.status == 0);
    return nlohmann::json::parse(outcome.out);
  };
  const auto pairs = counted({"pairs", "8", "2", "20000"});
  CHECK(pairs["program_near"] > 1000);
  for (const std::string what : {"program_far", "elsewhere_far", "heap_far"})
    CHECK(pairs[what] < 0.01);
  const auto alike = counted({"exchange", "16", "2", "20000"});
  const auto divided = counted({"exchange", "16", "2", "20000", "divided"});
  CHECK(divided["program_far"].get<double>() < alike["program_far"].get<double>() / 2);
  CHECK(play({"pairs", "8", "2", "3000", "shared"}).status == 2);
  CHECK(play({"crowd", "8"}).status == 2);
  CHECK(play({"pairs", "1"}).status == 2);
  CHECK(play({"pairs", "65"}).status == 2);
}

TEST_CASE("as few cache lines cross as tests/golden/crossings.txt says") {
  const Outcome outcome =
      Program({"python3", "tests/golden/golden.py", PKTMALLOC_BUILD, "crossings"}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
}

TEST_CASE("the simulator counts what stands in a trace, and refuses one without references") {
  TemporaryFolder folder;
  folder.write("trace",
               "==7== Lackey\nI  04000000,3\n L 1000,8\nI  04000003,4\n M 1008,8\n S 2000,4\n");
  folder.write("empty", "==7== Lackey\n");
  const auto simulate = [&](const std::string& trace) {
    return Program({"sh", "-c", build_path("bench/simulator") + " < " + folder / trace}).run();
  };
  const Outcome outcome = simulate("trace");
  CHECK(outcome.status == 0);
  CHECK(outcome.out.find("\"instructions\": 2, \"references\": 3, ") != std::string::npos);
  CHECK(outcome.out.find("\"page_faults\": 2, ") != std::string::npos);
  CHECK(simulate("empty").status == 1);
}

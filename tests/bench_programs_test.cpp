// SPDX-License-Identifier: MIT
// The programs of the benchmarks (tools/bench/programs), with little to do: they check their own
// results, print their figures, and refuse what they do not understand.
#include <catch2/catch.hpp>

#include <sstream>
#include <string>
#include <vector>

#include "tests/bench.h"

namespace {

struct Command {
  std::string words;  // the program's name and its arguments
  Words figures;
};

// Those that need no library beyond the tests' own; tests/tests.mk builds them for this suite.
const Command kCommands[] = {
    {"passing zeroed", {"ms", "cpu_ms", "peak_mib"}},
    {"after 10 1", {"call_us", "round_us", "back_s"}},
    {"drift 30 500", {"ms", "peak_mib", "live_mib", "peak_per_live"}},
    {"w2_pipeline 1 1000", {"ms", "cpu_ns_per_packet"}},
    {"w2_pipeline 3 1000", {"ms", "cpu_ns_per_packet"}},
    {"w2_pipeline 2 1", {"ms", "cpu_ns_per_packet"}},
    {"w6_larson 2 100 8 1000 200000", {"ms", "ns_per_replacement"}},
    {"w6_larson --ms 20 2 100", {"ms", "ns_per_replacement"}},
    {"w6_pages 50000", {"ms"}},
    {"w6_sizes 1 32768 100 50000", {"ms"}},
    {"w6_sizes 2 16 100 50000", {"ms"}},
};

Program program(const std::string& command) {
  Words words;
  std::istringstream text(command);
  for (std::string word; text >> word;) words.push_back(word);
  words[0] = build_path("bench/" + words[0]);
  return Program(words);
}

}  // namespace

TEST_CASE("a program of the benchmarks prints its figures, without the library and with it") {
  for (const Command& command : kCommands) {
    for (const Outcome& outcome :
         {program(command.words).run(), program(command.words).preloaded().run()}) {
      INFO(command.words << ": " << outcome);
      CHECK(outcome.status == 0);
      CHECK(outcome.err.empty());
      Words arguments = command.figures;
      arguments.insert(arguments.begin(), outcome.out);
      check_python(R"(
import json, sys
figures = json.loads(sys.argv[1])
assert list(figures) == ["command", *sys.argv[2:], "rss_after_mib"], figures
assert all(figures[name] > 0 for name in sys.argv[2:]), figures
)",
                   arguments);
    }
  }
}

TEST_CASE("a program of the benchmarks refuses arguments that it does not understand") {
  for (const std::string command :
       {"passing", "passing by", "drift many", "drift 3 0", "w2_pipeline 0", "w6_larson --ms 0",
        "w6_larson --ms", "w6_larson 1 10 8 7", "w6_pages -1", "w6_sizes 1 15"}) {
    const Outcome outcome = program(command).run();
    INFO(command << ": " << outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.rfind("usage: " + command.substr(0, command.find(' ')) + " ", 0) == 0);
  }
}

TEST_CASE("larson for a fixed time works for that long") {
  const Outcome outcome = program("w6_larson --ms 100 2 100").run();
  INFO(outcome);
  check_python(R"(
import json, sys
figures = json.loads(sys.argv[1])
assert figures["ms"] >= 100, figures
assert figures["ns_per_replacement"] > 1, figures
)",
               {outcome.out});
}

TEST_CASE("the CPU time of a pipeline is that of all its threads, without their sleep") {
  const Outcome outcome = program("w2_pipeline 3 10000").run();
  INFO(outcome);
  check_python(R"(
import json, os, sys
figures = json.loads(sys.argv[1])
cpu_ms = figures["cpu_ns_per_packet"] * 320000 / 1e6
assert 1 < cpu_ms <= figures["ms"] * os.cpu_count() + 10, figures
)",
               {outcome.out});
}

// `make demo` compares what programs print without and with the library.
TEST_CASE("to the demo two runs of its packets are the same, and other packets are not") {
  const std::string packets = build_path("bench/w1_packets");
  const Outcome outcome = Program({"python3", "-c",
                                   "import sys; sys.path.insert(0, 'tools/demo')\n"
                                   "from demo import run_program\n"
                                   "def behaviour(count):\n"
                                   "    return run_program(['" +
                                       packets +
                                       "', 'make_shared', count], '').behaviour()\n"
                                       "assert behaviour('3000') == behaviour('3000')\n"
                                       "assert behaviour('3000') != behaviour('3001')\n"})
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
}

// SPDX-License-Identifier: MIT
// tests/examples, which users copy: each prints the same with the library in any way, and without.
// tests/linking_test.cpp has those that need it.
#include <catch2/catch.hpp>

#include <filesystem>
#include <set>
#include <string>

#include "tests/program.h"
#include "tests/temporary_folder.h"
#include "tests/twins.h"

namespace {

const std::set<std::string> kNeedTheLibrary = {"example.c", "example.cpp"};

bool is_c(const std::string& source) { return source.substr(source.size() - 2) == ".c"; }

void shell(const std::string& command) {
  const Outcome outcome = Program({"sh", "-c", command}).run();
  INFO(command << ": " << outcome);
  REQUIRE(outcome.clean());
}

}  // namespace

TEST_CASE("each example prints the same without the library and with it", "[.long]") {
  const TemporaryFolder folder;
  const std::string object = folder / "object.o", program = folder / "program",
                    linked = folder / "linked";
  for (const auto& file : std::filesystem::directory_iterator("tests/examples")) {
    if (kNeedTheLibrary.count(file.path().filename()) > 0) continue;
    DYNAMIC_SECTION(file.path().filename().string()) {
      const std::string source = file.path();
      shell((is_c(source) ? "gcc -std=c11 " : "g++ -std=c++17 -Wold-style-cast ") +
            std::string("-O2 -pedantic -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror "
                        "-Ipreload/contract -pthread -c ") +
            source + " -o " + object);
      const auto link = [&](const std::string& with, const std::string& into) {
        shell((is_c(source) ? "gcc " : "g++ ") + object + " -pthread " + with + " -o " + into);
      };
      link("", program);
      const Outcome alone = Program({program}).run();
      INFO("alone: " << alone);
      REQUIRE(alone.status == 0);
      REQUIRE(!alone.out.empty());
      CHECK(alone.err.empty());
      const auto is_the_same = [&](const Program& with) {
        const Outcome outcome = with.run();
        INFO(outcome);
        CHECK(outcome.status == 0);
        CHECK(outcome.out == alone.out);
        CHECK(outcome.err.empty());
      };
      is_the_same(Program({program}).preloaded());
      is_the_same(Program({program}).preloaded().with("PKTMALLOC_CLASSES", "64,1536"));
      is_the_same(Program({program}).preloaded().with("PKTMALLOC_TRACE", "/dev/null"));
      is_the_same(Program({program}).preloaded().with("PKTMALLOC_SAMPLE_GUARD", "1"));
      is_the_same(checked({program}));
      is_the_same(hardened({program}));
      link("-L" + build_path("") + " -lpktmalloc -Wl,-rpath," + build_path(""), linked);
      is_the_same(Program({linked}));
      is_the_same(checked({linked}));
      link(build_path("libpktmalloc.a"), linked);
      is_the_same(Program({linked}));
    }
  }
}

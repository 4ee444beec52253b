// SPDX-License-Identifier: MIT
// What must not drift, held against tests/golden/*.txt by golden.py, which can also write them
// anew.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

namespace {

bool matches(const std::string& name) {
  const std::string command = "python3 tests/golden/golden.py " PKTMALLOC_BUILD " " + name;
  return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("the exported symbols are those in tests/golden/symbols.txt") {
  CHECK(matches("symbols"));
}

TEST_CASE("what programs linked with the library rely on is that in tests/golden/interface.txt") {
  CHECK(matches("interface"));
}

TEST_CASE("the library needs libc and nothing else") { CHECK(matches("needed")); }

TEST_CASE("the libraries for older systems need no newer libc than before") {
  if (std::string(PKTMALLOC_BUILD) == "build") CHECK(matches("older"));
}

TEST_CASE("a process that starts makes no more system calls, relocations and pages than before") {
  if (std::string(PKTMALLOC_BUILD) == "build") CHECK(matches("start"));
}

TEST_CASE("a trip to the mail takes as many instructions, and touches as many lines, as before") {
  if (std::string(PKTMALLOC_BUILD) == "build") CHECK(matches("trips"));
}

TEST_CASE("malloc, free, new and delete take as many instructions, and as many locked, as before") {
  // The debug variant is not optimised for speed.
  if (std::string(PKTMALLOC_BUILD) == "build") CHECK(matches("instructions"));
}

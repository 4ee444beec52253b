// SPDX-License-Identifier: MIT
// Each kind of heap error under each of our libraries: stopped when tests/golden/heap_errors.txt
// says, no earlier and no later. docs/heap_errors.md shows the same file beside other allocators;
// `make heap-errors` writes both anew.
#include <catch2/catch.hpp>

#include <signal.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"

namespace {

struct Library {
  std::string name;  // in the golden file
  std::string file;
};
const Library kLibraries[] = {{"pktmalloc", "libpktmalloc.so"},
                              {"checked", "libpktmalloc-checked.so"}};

struct Kind {
  std::string name;
  std::vector<std::string> sizes;
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

std::vector<Kind> all_kinds() {
  std::istringstream lines(Program({program_path("heap_error")}).run().out);
  std::vector<Kind> kinds;
  std::string name, sizes, what;
  while (std::getline(lines, name, '\t') && std::getline(lines, sizes, '\t') &&
         std::getline(lines, what)) {
    kinds.push_back({name, words(sizes)});
  }
  return kinds;
}

// What a line is of -> its text.
std::map<std::string, std::string> golden() {
  std::ifstream file("tests/golden/heap_errors.txt");
  std::map<std::string, std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) lines[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return lines;
}

Outcome commits(const std::string& kind, const std::string& size, const Library& library) {
  return Program({program_path("heap_error"), kind, size})
      .with("LD_PRELOAD", build_path(library.file))
      .with("PKTMALLOC_AGE", "1h")
      .run();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The words of the golden file.
std::string verdict(const Outcome& outcome) {
  if (outcome.timed_out || outcome.signal == SIGALRM) return "hangs";
  if (outcome.status == 0 && outcome.err.empty()) return "not";
  return std::string(has(outcome.out, "error done") ? "later" : "call") +
         (outcome.err.empty()                        ? "*"
          : outcome.err.rfind("pktmalloc: ", 0) == 0 ? ""
                                                     : "°");
}

bool names_its_pointer(const Outcome& outcome) {
  const std::string line = outcome.err.substr(0, outcome.err.find('\n'));
  const std::string pointer = words(outcome.out).at(1);
  return std::regex_search(line, std::regex(pointer + "\\b"));
}

}  // namespace

TEST_CASE(
    "each heap error is stopped when the golden file says, and the report names its pointer") {
  const auto expected = golden();
  for (const Library& library : kLibraries) {
    for (const Kind& kind : all_kinds()) {
      std::string found;
      for (const std::string& size : kind.sizes) {
        const Outcome outcome = commits(kind.name, size, library);
        INFO(library.name << ", " << kind.name << " " << size << ": " << outcome);
        const std::string word = verdict(outcome);
        CHECK(word != "hangs");
        if (kind.name == "none") CHECK(word == "not");
        if (word == "call" || word == "later") CHECK(names_its_pointer(outcome));
        found += (found.empty() ? "" : " ") + word;
      }
      const auto line = expected.find(library.name + " " + kind.name);
      INFO(library.name << ", " << kind.name << "; `make heap-errors` writes the golden file anew");
      CHECK(found == (line == expected.end() ? "" : line->second));
    }
  }
}

TEST_CASE("the golden file has the kinds of the program and no others") {
  std::set<std::string> kinds, recorded;
  for (const Kind& kind : all_kinds()) kinds.insert(kind.name);
  for (const auto& [line, text] : golden()) {
    if (line.rfind("kind ", 0) == 0) recorded.insert(line.substr(5));
  }
  CHECK(recorded == kinds);
}

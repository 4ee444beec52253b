// SPDX-License-Identifier: MIT
// pktmalloc compare, before scripts that tell under what they run.
//
// "mine" is the library under test by another name, so that every machine has two allocators.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/refused.h"
#include "tests/temporary_folder.h"

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// A folder with the library as mine.so.
class Workplace : public TemporaryFolder {
 public:
  Workplace() { std::filesystem::copy_file(library_path(), mine()); }
  std::string mine() const { return *this / "mine.so"; }

  Program program(const Words& options, const Words& command) const {
    Words words = {build_path("pktmalloc"), "compare", "--with", "mine=" + mine()};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return Program(words);
  }
  // The script has the folder as $1; $LD_PRELOAD tells under what it runs.
  Program script(const Words& options, const std::string& text) const {
    return program(options, {"sh", "-c", text, "sh", path()});
  }
  Outcome run(const Words& options, const std::string& text) const {
    return script(options, text).run();
  }
};

inline Json contender(const Json& json, const std::string& name) {
  for (const Json& each : json["allocators"]) {
    if (each["name"] == name) return each;
  }
  FAIL("no " << name << " in " << json.dump(2));
  return {};
}

inline bool any_finding(const Json& json, const std::string& part) {
  const Json& all = json["findings"];
  return std::any_of(all.begin(), all.end(), [&](const Json& f) { return has(f, part); });
}

// A piece of a script.
inline const char kMine[] = "case $LD_PRELOAD in *mine.so*) %; esac";
inline std::string under_mine(const std::string& then) {
  std::string script = kMine;
  return script.replace(script.find('%'), 1, then);
}

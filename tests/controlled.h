// SPDX-License-Identifier: MIT
// Processes that run with PKTMALLOC_CONTROL=1, and pktmalloc tell.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/program.h"
#include "tests/running.h"

using Words = std::vector<std::string>;

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline Program tell(const Words& words) {
  Words all = {build_path("pktmalloc"), "tell"};
  all.insert(all.end(), words.begin(), words.end());
  return Program(all);
}

inline void check_refused(const Outcome& outcome, const std::string& part) {
  INFO(outcome);
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(has(outcome.err, part));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}

inline Running::Environment controlled(Running::Environment more = {}) {
  more["PKTMALLOC_CONTROL"] = "1";
  return more;
}

// That waits, with the library preloaded unless it is linked.
struct Waiting : Running {
  explicit Waiting(Running::Environment environment, const std::string& way = "plain")
      : Running({program_path("tells_itself", way), "waits"},
                with_library(std::move(environment), way)) {
    line("ready");
    id = std::to_string(pid());
  }
  static Running::Environment with_library(Running::Environment all, const std::string& way) {
    if (way == "plain") all["LD_PRELOAD"] = library_path();
    return all;
  }
  std::string id;
};

inline const std::string kWays[] = {"plain", "shared", "static"};

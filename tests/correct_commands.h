// SPDX-License-Identifier: MIT
// Real programs that use their memory rightly, and say the same each time.
#pragma once

#include <string>
#include <vector>

#include "tests/program.h"

inline std::vector<std::vector<std::string>> correct_commands() {
  const std::string lines =
      "for i in $(seq 20000); do echo $((i * 7919 % 10007)); done | sort -n | "
      "uniq -c | sort -rn | head -40; exit 4";
  const std::string python =
      "import json\nd = {str(i): [i] * (i % 50) for i in range(5000)}\n"
      "print(len(json.dumps(d)), len(json.loads(json.dumps(d))))";
  const std::string perl =
      "my %h; $h{$_} = 'x' x ($_ % 500) for 1..20000; my $n = 0; $n += length for values %h; "
      "print \"$n\\n\"";
  const std::string sql =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000) "
      "SELECT count(*), sum(i), max(printf('%050d', i)) FROM n ORDER BY i;";
  return {{program_path("correct", "checked")},
          {"sh", "-c", lines},
          {"python3", "-c", python},
          {"perl", "-e", perl},
          {"sqlite3", ":memory:", sql},
          {"git", "--no-pager", "log", "-3", "--stat"},
          {"g++", "-std=c++20", "-fsyntax-only", "tests/checked/correct.cpp"}};
}

// SPDX-License-Identifier: MIT
// ProcessTable: the processes of this user that have the library, a row each, as `stat` prints and
// `top` lets choose from.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pktmalloc {

struct ProcessRow {
  pid_t pid;
  std::string program;
  uint64_t allocated_bytes, cached_bytes, committed_bytes, rss_bytes, threads;

  std::string text() const;
};

struct ProcessTable {
  std::vector<ProcessRow> rows;       // ascending by pid
  std::vector<std::string> refusals;  // a line each: has the library and cannot be read

  // With its head, a line each; one that says so instead of no rows.
  std::string text() const;
};

extern const char* const kProcessTableHead;

ProcessTable process_table();

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// Program: runs a real program and tells how it ended and what it said.
//
// The child gets this process's environment without LD_PRELOAD and without options of the library,
// then what with() and preloaded() add; limits are set in the child, so they hold for it alone.
// stdin is /dev/null. A program that hangs is killed with all its descendants.
#pragma once

#include <sys/resource.h>

#include <map>
#include <string>
#include <vector>

struct Outcome {
  int status = -1;         // exit status; -1: did not exit
  int signal = 0;          // that ended it; 0: none
  bool timed_out = false;  // was killed by us
  std::string out, err;

  bool clean() const { return status == 0 && out.empty() && err.empty(); }
};

// For Catch: everything at once, so that a failed assertion tells why.
std::ostream& operator<<(std::ostream& stream, const Outcome& outcome);

class Program {
 public:
  // argv[0] is looked up in PATH if it has no slash.
  explicit Program(std::vector<std::string> argv) : argv_(std::move(argv)) {}

  Program& with(const std::string& name, const std::string& value);
  // LD_PRELOAD: the library under test, then the others named.
  Program& preloaded(const std::string& others = "");
  Program& limit(int resource, rlim_t bytes);
  Program& in(const std::string& folder);

  Outcome run() const;

 private:
  [[noreturn]] void become(int out, int err) const;

  std::vector<std::string> argv_;
  std::map<std::string, std::string> environment_;
  std::map<int, rlim_t> limits_;
  std::string folder_;
};

// Where things are, as absolute paths: also for programs that run in another folder.
std::string build_path(const std::string& name);
std::string library_path();
// One of tests/programs in one of the ways it was built: plain, shared or static.
std::string program_path(const std::string& name, const std::string& way = "plain");

// Is there a program of that name, in PATH if it has no slash?
bool installed(const std::string& name);

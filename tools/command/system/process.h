// SPDX-License-Identifier: MIT
// Process: what /proc tells of a running process. Every function throws Failure with the pid when
// the process is gone or has ended, belongs to another user or is protected.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace pktmalloc {

struct Mapping {
  uint64_t start, end;
  uint64_t offset;  // in the file
  bool readable, writable, executable;
  std::string path;
  bool shared = false;  // with whoever else maps it
};

class Process {
 public:
  explicit Process(pid_t pid) : Process(pid, pid) {}
  // Failures name another one, of which it is a thread or a copy.
  Process(pid_t pid, pid_t named) : pid_(pid), named_(named) {}

  pid_t pid() const { return pid_; }
  // The process, if `pid` is the id of one of its threads.
  pid_t leader() const;
  // One that has memory: after main()'s has ended by pthread_exit the process shows by the others
  // only what it has.
  pid_t thread() const;
  // The executable, as a path by which it can be opened even if it was deleted since.
  std::string executable() const { return file("exe"); }
  std::string name() const;  // as in /proc/PID/comm
  std::vector<Mapping> mappings() const;
  // The inode of a name space, such as "pid".
  uint64_t name_space(const std::string& kind) const;
  bool shares(const std::string& kind) const;  // that one with this process
  // Its id in its own PID namespace.
  pid_t innermost_pid() const;
  // Of /proc/PID/stat, by its number in proc(5).
  enum Field {
    kState = 3,
    kParent = 4,
    kMinorFaults = 10,
    kMajorFaults = 12,
    kThreads = 20,
    kStart = 22
  };
  std::string field(Field field) const;
  // False: it has ended, perhaps unnoticed by its parent, or is the system's own. Does not throw.
  bool has_memory() const;
  // By a signal or a debugger.
  bool is_stopped() const;
  bool is_traced() const;
  // Filters of its system calls.
  unsigned filters() const;
  // Whose rights it has: the effective ones, and by bits the capabilities that it may have; those
  // of another user name space are rights over that one alone, and none here.
  struct User {
    uid_t uid;
    gid_t gid;
    uint64_t capabilities;
  };
  User user() const;
  // A file of /proc/PID, of thread().
  std::string file(const std::string& name) const;

 private:
  [[noreturn]] void fail(int error) const;

  pid_t pid_, named_;
};

// Of the text of /proc/PID/maps.
std::vector<Mapping> mappings_in(std::istream& maps);

// All processes of /proc that this user may read, in no order.
std::vector<pid_t> readable_processes();

// What a user typed as a process id, such as $! of a shell; 0: it is none. A `pktmalloc run` that
// waits for its program stands for that.
pid_t process_id(const std::string& text);

}  // namespace pktmalloc

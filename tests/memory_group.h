// SPDX-License-Identifier: MIT
// MemoryGroup: a cgroup with a limit of memory, for programs that it starts. It is made below the
// group that this process is in, or as near to it as groups have such limits (v2 has none below a
// group with processes in it), and removed at the end.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

class MemoryGroup {
 public:
  MemoryGroup() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      // "4:memory:/path" or, of version 2, "0::/path".
      const size_t names = line.find(':') + 1, path = line.find(':', names) + 1;
      const std::string controllers = line.substr(names, path - 1 - names);
      if (controllers == "memory" || controllers.empty()) {
        make(mounted(controllers), line.substr(path));
      }
    }
  }
  ~MemoryGroup() {
    // Whoever ended a moment ago may still be counted.
    for (int tries = 0; !folder_.empty() && rmdir(folder_.c_str()) != 0 && tries < 100; ++tries) {
      usleep(20'000);
    }
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  // False where no group with a limit can be made.
  explicit operator bool() const { return !folder_.empty(); }

  bool limit(uint64_t bytes) {
    std::ofstream file(folder_ + "/" + limit_);
    file << bytes << std::flush;
    return file.good();
  }

  // The same command, run in the group.
  std::vector<std::string> inside(const std::vector<std::string>& command) const {
    std::vector<std::string> all = {"sh", "-c", "echo $$ > \"$0\" && exec \"$@\"",
                                    folder_ + "/cgroup.procs"};
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }

 private:
  static std::string mounted(const std::string& controllers) {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string line; std::getline(mounts, line);) {
      std::istringstream words(line);
      std::string device, place, type, options;
      words >> device >> place >> type >> options;
      if (controllers.empty()
              ? type == "cgroup2"
              : type == "cgroup" &&
                    ("," + options + ",").find("," + controllers + ",") != std::string::npos) {
        return place;
      }
    }
    return "";
  }

  void make(const std::string& mount, std::string path) {
    while (folder_.empty() && !mount.empty()) {
      const std::string folder = mount + path + "/pktmalloc-test-" + std::to_string(getpid());
      std::error_code failed;
      if (std::filesystem::create_directory(folder, failed)) {
        for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
          if (std::filesystem::exists(folder + "/" + name)) limit_ = name;
        }
        if (!limit_.empty()) folder_ = folder;
        if (limit_.empty()) rmdir(folder.c_str());
      }
      if (path.empty()) return;
      path.erase(path.rfind('/'));
    }
  }

  std::string folder_, limit_;
};

// SPDX-License-Identifier: MIT
#include "tools/command/profile/source_lines.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "tools/command/failure.h"
#include "tools/command/text/demangled.h"

namespace pktmalloc {
namespace {

// What the program writes. Without a shell: paths may hold anything.
bool run(std::vector<std::string> arguments, std::string& output) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) throw Failure("cannot start {}: no pipe", arguments[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char buffer[65536];
  for (ssize_t got; failed == 0 && (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0) output.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  if (failed == 0) waitpid(pid, &status, 0);
  return failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// "foo(int) at /src/map.cpp:12 (discriminator 3)"
bool read_frame(const std::string& text, FrameName& frame) {
  const size_t at = text.rfind(" at ");
  if (at == std::string::npos || text.rfind("??", 0) == 0) return false;
  frame.function = demangled(text.substr(0, at));
  std::string line = text.substr(at + 4);
  line = line.substr(0, line.find(" (discriminator"));
  line = line.substr(line.find_last_of('/') + 1);
  if (line.rfind("??", 0) != 0) frame.line = line;
  return true;
}

}  // namespace

std::vector<std::vector<FrameName>> source_lines(const std::string& file,
                                                 const std::vector<uint64_t>& addresses) {
  // As the linker knows them; -f names functions, -i inlined ones too, -p a line each, -a the
  // address before.
  static const std::vector<std::vector<std::string>> kTools = {
      {"llvm-symbolizer", "--output-style=GNU", "--no-demangle", "-f", "-i", "-p", "-a", "-e"},
      {"addr2line", "-f", "-i", "-p", "-a", "-e"}};
  constexpr size_t kAtOnce = 2000;  // a command line has its limits
  std::string output;
  bool known = true;
  for (size_t from = 0; from < addresses.size(); from += kAtOnce) {
    bool done = false;
    for (const auto& tool : kTools) {
      std::vector<std::string> arguments = tool;
      arguments.push_back(file);
      for (size_t i = from; i < std::min(from + kAtOnce, addresses.size()); ++i) {
        arguments.push_back(fmt::format("{:#x}", addresses[i]));
      }
      if ((done = run(std::move(arguments), output))) break;
    }
    known &= done;
  }
  if (!known) throw Failure("source lines need llvm-symbolizer or addr2line (package binutils)");
  std::map<uint64_t, std::vector<FrameName>> found;
  uint64_t address = 0;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    std::string line = output.substr(at, end - at);
    at = end + 1;
    constexpr char kInlined[] = " (inlined by) ";
    const bool inlined = line.rfind(kInlined, 0) == 0;
    if (inlined) {
      line.erase(0, sizeof kInlined - 1);
    } else {
      const size_t colon = line.find(": ");
      if (colon == std::string::npos) continue;
      address = std::stoull(line.substr(0, colon), nullptr, 16);
      line.erase(0, colon + 2);
    }
    FrameName frame;
    if (read_frame(line, frame)) found[address].push_back(frame);
  }
  std::vector<std::vector<FrameName>> all;
  for (const uint64_t a : addresses) all.push_back(found[a]);
  return all;
}

}  // namespace pktmalloc

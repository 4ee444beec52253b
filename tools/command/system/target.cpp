// SPDX-License-Identifier: MIT
#include "tools/command/system/target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

// An interpreter may be a script itself; the kernel follows four.
constexpr int kDepthMost = 4;

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string find_file(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    if (access(command.c_str(), F_OK) != 0) {
      throw Failure("there is no {}: {}", command, strerror(errno));
    }
    if (!is_file(command)) throw Failure("{} is not a program", command);
    if (access(command.c_str(), X_OK) != 0) {
      throw Failure("cannot execute {}: {}", command, strerror(errno));
    }
    return command;
  }
  const char* const path = getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + command;
    if (access(file.c_str(), X_OK) == 0 && is_file(file)) return file;
  }
  throw Failure("there is no command {}", command);
}

// The words of a script's first line behind "#!": interpreter and at most one argument.
std::vector<std::string> interpreter_line(const std::string& file) {
  std::ifstream script(file, std::ios::binary);
  char magic[2] = {};
  if (!script.read(magic, 2) || magic[0] != '#' || magic[1] != '!') return {};
  std::string line;
  std::getline(script, line);
  const auto trim = [](const std::string& text) {
    const size_t first = text.find_first_not_of(" \t");
    if (first == std::string::npos) return std::string();
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
  };
  line = trim(line);
  const size_t end = line.find_first_of(" \t");
  std::vector<std::string> words = {line.substr(0, end)};
  if (end != std::string::npos) words.push_back(trim(line.substr(end)));
  return words;
}

bool is_elf(const std::string& file) {
  std::ifstream start(file, std::ios::binary);
  char magic[4] = {};
  return start.read(magic, 4) && memcmp(magic, "\177ELF", 4) == 0;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool is_variable(const std::string& word) {
  return word[0] != '-' && word.find('=') != std::string::npos;
}

// The words of env's argument in a script's first line, which it takes for one unless that begins
// with -S: variables, and what it starts. Empty: only env understands it.
std::vector<std::string> words_of_env(const std::string& argument) {
  const bool splits = argument.starts_with("-S");
  std::vector<std::string> words = words_of(splits ? argument.substr(2) : argument);
  const auto program = std::find_if_not(words.begin(), words.end(), is_variable);
  const bool is_plain = program != words.end() && (*program)[0] != '-' &&
                        argument.find_first_of("\\\"'$#") == std::string::npos;
  return is_plain && (splits || words.size() == 1) ? words : std::vector<std::string>();
}

}  // namespace

std::string command_of_exec(const std::string& script) {
  std::ifstream file(script, std::ios::binary);
  std::string command;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2 || words[0] != "exec") continue;
    auto at = words.begin() + 1;
    if (*at == "env" || at->ends_with("/env")) {
      at = std::find_if_not(at + 1, words.end(), is_variable);
    }
    std::string word = at != words.end() ? *at : "env";
    const bool quoted = word.size() > 2 && word.front() == word.back() &&
                        (word.front() == '"' || word.front() == '\'');
    if (quoted) word = word.substr(1, word.size() - 2);
    // Not of a descriptor ("exec 2>file"), an option of exec, or what the shell has to expand.
    command = word.find_first_of("$`\"'<>&;*?") == std::string::npos && word[0] != '-' ? word : "";
  }
  return command;
}

Target find_target(const std::string& command) {
  Target target{find_file(command), {}, {}};
  std::vector<std::string> words = {command};
  bool by_env = false, needs_env = false;
  for (int depth = 0; depth < kDepthMost; ++depth) {
    const std::vector<std::string> line = interpreter_line(target.file);
    if (line.empty() || line[0].empty()) {
      // What the kernel cannot start, execvp gives to the shell.
      if (depth == 0 && access(target.file.c_str(), R_OK) == 0 && !is_elf(target.file)) {
        target.scripts.push_back(target.file);
        target.file = "/bin/sh";
      }
      return target;
    }
    const std::string script = target.file;
    target.scripts.push_back(script);
    words[0] = script;
    const std::vector<std::string> by_env_here = line.size() == 2 && line[0].ends_with("/env")
                                                     ? words_of_env(line[1])
                                                     : std::vector<std::string>();
    if (!by_env_here.empty()) {
      const auto program = std::find_if_not(by_env_here.begin(), by_env_here.end(), is_variable);
      target.file = find_file(*program);
      words.insert(words.begin(), program, by_env_here.end());
      by_env = true;
      needs_env |= program != by_env_here.begin();  // which sets variables
    } else {
      if (!is_file(line[0])) {
        throw Failure("{} needs the interpreter {}, which is not there", script, line[0]);
      }
      target.file = line[0];
      words.insert(words.begin(), line.begin(), line.end());
    }
    if (by_env && !needs_env) target.without_env = words;
  }
  return target;
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/system/library.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <vector>

#include "tools/command/failure.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/read_all.h"

namespace pktmalloc {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  const fs::path beside = fs::path(own_executable()).parent_path();
  const fs::path lib = beside.parent_path() / "lib";
  return {beside, lib, lib / PKTMALLOC_MULTIARCH, "/usr/local/lib",
          fs::path("/usr/lib") / PKTMALLOC_MULTIARCH};
}

// In the child of objection(); never returns.
[[noreturn]] void become_trial(int err, const std::vector<std::string>& variables) {
  std::vector<char*> environment;
  for (const std::string& v : variables) environment.push_back(const_cast<char*>(v.c_str()));
  environment.push_back(nullptr);
  char name[] = "pktmalloc";
  char version[] = "--version";
  char* arguments[] = {name, version, nullptr};
  dup2(err, STDOUT_FILENO);  // nobody sees the version there, and no descriptor is needed
  dup2(err, STDERR_FILENO);
  execve("/proc/self/exe", arguments, environment.data());
  _exit(127);
}

}  // namespace

std::string own_executable() { return fs::read_symlink("/proc/self/exe"); }

bool is_our_library(const std::string& path) {
  return fs::path(path).filename().string().starts_with("libpktmalloc");
}

std::string remark(LibraryKind kind) {
  const std::string word = names_of(kind).word;
  return word.empty() ? "" : ", " + word;
}

Library Library::find(LibraryKind kind) {
  const std::string name = names_of(kind).file;
  std::string looked;
  for (const fs::path& folder : folders()) {
    for (const char* version : {"", ".0"}) {
      std::error_code ignored;
      if (fs::exists(folder / (name + version), ignored)) return Library(folder / (name + version));
    }
    looked += (looked.empty() ? "" : ", ") + folder.string();
  }
  throw Failure("there is no {} in {}; name it by --library PATH", name, looked);
}

Library::Library(const std::string& path) : path_(fs::absolute(path).lexically_normal()) {
  const ElfFile file(path_);
  if (!file.is_elf() || !file.symbol("pktmalloc_version") || file.has_interpreter()) {
    throw Failure("{} is not a library of pktmalloc", path_);
  }
  if (path_.find_first_of(" :") != std::string::npos) {
    throw Failure("{} has a space or colon in its path, which LD_PRELOAD cannot express", path_);
  }
  machine_ = file.machine();
  word_class_ = file.word_class();
}

LibraryKind Library::kind() const {
  const std::string name = fs::canonical(path_).filename();
  for (const LibraryKind kind : {LibraryKind::kChecked, LibraryKind::kHardened}) {
    if (name.starts_with(names_of(kind).file)) return kind;
  }
  return LibraryKind::kNormal;
}

std::string Library::objection(const Environment& options) const {
  Environment environment = own_environment();
  std::erase_if(environment, [](const auto& v) { return v.first.starts_with("PKTMALLOC_"); });
  environment["LD_PRELOAD"] = path_;
  for (const auto& [name, value] : options) environment[name] = value;
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  int err[2];
  if (pipe2(err, O_CLOEXEC) != 0) return "";
  const pid_t child = fork();
  if (child == 0) become_trial(err[1], variables);
  close(err[1]);
  const std::string text = child < 0 ? "" : read_all(err[0]);
  close(err[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::istringstream lines(text);
  const std::string ours = "pktmalloc: ";
  for (std::string line; std::getline(lines, line);) {
    // "...; using 1s" would be wrong here.
    if (line.starts_with(ours))
      return line.substr(ours.size(), line.rfind("; using ") - ours.size());
    if (line.find(path_) != std::string::npos) return line;  // the loader's
  }
  return status == 0 ? "" : "a program does not start under " + path_;
}

}  // namespace pktmalloc

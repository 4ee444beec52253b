// SPDX-License-Identifier: MIT
// What helps with the command's words: bash completion and man pages.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

using Words = std::set<std::string>;

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.insert(word);
  return words;
}

// What bash would offer for the line, of which the last word is being typed.
Words offered(const std::string& line) {
  const std::string script =
      ". tools/install/pktmalloc.bash; _pktmalloc_words \"$PKTMALLOC${LINE#pktmalloc}\"";
  const Outcome outcome = Program({"bash", "--norc", "-c", script})
                              .with("LINE", line)
                              .with("PKTMALLOC", build_path("pktmalloc"))
                              .run();
  INFO(line << ": " << outcome);
  CHECK(outcome.err.empty());
  return words_of(outcome.out);
}

Words options_of(const std::string& subcommand) {
  std::istringstream help(Program({build_path("pktmalloc"), subcommand, "--help"}).run().out);
  Words options;
  for (std::string line; std::getline(help, line);) {
    const size_t at = line.find("--");
    if (line.rfind("  -", 0) != 0 || at == std::string::npos || at > 5) continue;
    options.insert(line.substr(at, line.find_first_not_of("-abcdefghijklmnopqrstuvwxyz", at) - at));
  }
  return options;
}

}  // namespace

TEST_CASE("bash completes subcommands, their options, and what they are about") {
  CHECK(offered("pktmalloc do") == Words{"doctor"});
  CHECK(offered("pktmalloc ").count("run") == 1);
  CHECK(offered("pktmalloc help do") == Words{"doctor"});
  CHECK(offered("pktmalloc help run ").empty());
  CHECK(offered("pktmalloc compare --with je") == Words{"jemalloc"});
  CHECK(offered("pktmalloc replay --with glibc,je") == Words{"glibc,jemalloc"});
  CHECK(offered("pktmalloc replay --speed ") == Words{"full", "real"});
  CHECK(offered("pktmalloc run --stacks f") == Words{"frame_pointers"});
  CHECK(offered("pktmalloc run --c") ==
        Words{"--canary", "--classes", "--check", "--checked", "--clear", "--control"});
  CHECK(offered("pktmalloc run --age 1s --only") == Words{"--only-this"});
  CHECK(offered("pktmalloc run --stats --only") == Words{"--only-this"});
  CHECK(offered("pktmalloc run --background ") == Words{"auto", "0", "1"});
  CHECK(offered("pktmalloc run --background = a") == Words{"auto"});
  CHECK(offered("pktmalloc run --library tools/inst") == Words{"tools/install"});
  CHECK(offered("pktmalloc run --age 1s setpr").count("setpriv") == 1);
  CHECK(offered("pktmalloc run -- setpr").count("setpriv") == 1);
  CHECK(offered("pktmalloc run ls tools/inst") == Words{"tools/install"});
  CHECK(offered("pktmalloc run ls --only").empty());
  CHECK(offered("pktmalloc run -- --").count("--stats") == 0);
  CHECK(offered("pktmalloc compare -n 10 setpr").count("setpriv") == 1);
  CHECK(offered("pktmalloc compare -n ").empty());
  CHECK(offered("pktmalloc top -s ") ==
        Words{"c", "l", "a", "f", "t", "d", "s", "m", "k", "p", "b", "u", "i"});
  CHECK(offered("pktmalloc objects --sort ") == Words{"bytes", "objects", "size", "type", "grown"});
  CHECK(offered("pktmalloc leaks ").count(std::to_string(getpid())) == 1);
  CHECK(offered("pktmalloc objects ").count(std::to_string(getpid())) == 1);
  CHECK(offered("pktmalloc top READ").empty());
  CHECK(offered("pktmalloc top ").count(std::to_string(getpid())) == 1);
  CHECK(offered("pktmalloc tell ").count(std::to_string(getpid())) == 1);
  CHECK(offered("pktmalloc tell 1 s") == Words{"stats", "sizes"});
  CHECK(offered("pktmalloc tell 1 profile sto") == Words{"stop"});
  CHECK(offered("pktmalloc tell 1 tr") == Words{"trace", "trim"});
  CHECK(offered("pktmalloc tell 1 trace sta") == Words{"start"});
  CHECK(offered("pktmalloc tell 1 stats READ") == Words{"README.md"});
  CHECK(offered("pktmalloc doctor --js") == Words{"--json"});
  CHECK(offered("pktmalloc doctor setpr").count("setpriv") == 1);
  CHECK(offered("pktmalloc report prof") == Words{"profile"});
  CHECK(offered("pktmalloc report READ") == Words{"README.md"});
  CHECK(offered("pktmalloc report profile --lea") == Words{"--leaks"});
  CHECK(offered("pktmalloc report profile READ") == Words{"README.md"});
  CHECK(offered("pktmalloc report --lea").empty());
  CHECK(offered("pktmalloc stat READ").count("README.md") == 1);
}

TEST_CASE("zsh and fish offer what bash does") {
  TemporaryFolder folder;
  const Outcome made =
      Program({"make", "--no-print-directory", "-o", "all", "install", "PREFIX=" + folder.path()})
          .run();
  INFO(made);
  REQUIRE(made.status == 0);
  const std::string path = (folder / "bin") + ":" + getenv("PATH");
  const std::string fish = folder / "share/fish/vendor_completions.d/pktmalloc.fish";
  const std::string zsh = folder / "share/zsh/site-functions/_pktmalloc";
  CHECK(folder.read("share/fish/vendor_completions.d/pktmalloc.fish").find('@') ==
        std::string::npos);
  if (at_hand("fish")) {
    const Outcome told =
        Program({"fish", "-N", "-c", "source " + fish + "; complete -C 'pktmalloc doct'"})
            .with("PATH", path)
            .run();
    INFO(told);
    CHECK(words_of(told.out) == Words{"doctor"});
  }
  if (at_hand("zsh")) {
    const std::string script =
        "compadd() { shift; print -l -- $@ }; words=(pktmalloc doct); CURRENT=2; . " + zsh;
    const Outcome told = Program({"zsh", "-f", "-c", script}).with("PATH", path).run();
    INFO(told);
    CHECK(words_of(told.out) == Words{"doctor"});
  }
}

TEST_CASE("every option has its line in the man page of its subcommand") {
  for (const auto& entry : std::filesystem::directory_iterator("docs/man")) {
    const std::string page = entry.path().filename();
    if (page.rfind("pktmalloc-", 0) != 0) continue;
    const std::string subcommand = page.substr(10, page.size() - 12);
    const std::string text =
        Program({"groff", "-mandoc", "-Tascii", "-P-cbou", entry.path()}).run().out;
    const Words options = options_of(subcommand);
    CHECK(options.count("--help") == 1);
    for (const std::string& option : options) {
      INFO(page << " " << option);
      CHECK(text.find(option) != std::string::npos);
    }
  }
}

TEST_CASE("man finds nothing wrong with the man pages") {
  skip_without({"groff"});
  for (const auto& entry : std::filesystem::directory_iterator("docs/man")) {
    const Outcome outcome =
        Program({"groff", "-man", "-mdoc", "-ww", "-z", "-Tutf8", "-Kutf8", entry.path()}).run();
    INFO(entry.path() << ": " << outcome);
    CHECK(outcome.clean());
  }
}

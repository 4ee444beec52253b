// SPDX-License-Identifier: MIT
// Every kind of file that the library writes, given to every command that reads files.
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/refused.h"
#include "tests/temporary_folder.h"

namespace {

struct Kind {
  std::string file, reader, option;
};
const Kind kKinds[] = {{"statistics.json", "report", "PKTMALLOC_STATS"},
                       {"samples heap", "profile", "PKTMALLOC_PROFILE"},
                       {"sizes.json", "tune", "PKTMALLOC_SIZES"},
                       {"calls.trace", "replay", "PKTMALLOC_TRACE"}};

// One of each kind, of the same program.
class Files : public TemporaryFolder {
 public:
  Files() {
    Program program({program_path("known_calls")});
    program.preloaded().with("PKTMALLOC_PROFILE_RATE", "1");
    for (const Kind& kind : kKinds) program.with(kind.option, *this / kind.file);
    REQUIRE(program.run().clean());
  }
};

Program command(std::vector<std::string> words) {
  words.insert(words.begin(), build_path("pktmalloc"));
  return Program(words);
}

std::vector<std::string> reading(const std::string& reader, const std::string& file) {
  return reader == "replay" ? std::vector<std::string>{reader, file, "--info"}
                            : std::vector<std::string>{reader, file};
}

}  // namespace

TEST_CASE("a file that another command reads is refused in a line that a shell can follow") {
  Files files;
  for (const Kind& kind : kKinds) {
    for (const Kind& other : kKinds) {
      const Outcome outcome = command(reading(other.reader, kind.file)).in(files.path()).run();
      INFO(other.reader << " " << kind.file << ": " << outcome);
      if (kind.reader == other.reader) {
        CHECK(outcome.status == 0);
        CHECK(outcome.err.empty());
        continue;
      }
      const std::string words = "; read it with: pktmalloc " + kind.reader + " ";
      check_refused(outcome, "pktmalloc: " + kind.file + " is a ");
      check_refused(outcome, words);
      const std::string told = outcome.err.substr(outcome.err.find(words) + words.size());
      const Outcome followed =
          Program({"sh", "-c", build_path("pktmalloc") + " " + kind.reader + " " + told})
              .in(files.path())
              .run();
      INFO(followed);
      CHECK((followed.status == 0 || kind.reader == "replay"));
    }
  }
  check_refused(command({"stat", "sizes.json"}).in(files.path()).run(),
                "pktmalloc tune sizes.json");
}

TEST_CASE(
    "no output replaces a recording, whose name was taken for the output's, nor another output") {
  Files files;
  const std::vector<std::vector<std::string>> kForgetful = {
      {"profile", "--html", "samples heap", "samples heap"},
      {"profile", "--pprof", "samples heap", "samples heap"},
      {"report", "--html", "statistics.json", "statistics.json"},
      {"tune", "--def", "sizes.json", "sizes.json"},
      {"run", "--page", "samples heap", "true"},
      {"compare", "--export-csv", "statistics.json", "-n", "1", "true"},
  };
  for (const std::vector<std::string>& words : kForgetful) {
    const std::string before = files.read(words[2]);
    check_refused(command(words).in(files.path()).run(), "cannot write " + words[2] + ": it is a ");
    CHECK(files.read(words[2]) == before);
  }
  for (const std::string place : {"one", "-"}) {
    check_refused(command({"profile", "--html", place, "--pprof", place, "samples heap"})
                      .in(files.path())
                      .run(),
                  "something else is to go there, too");
  }
  CHECK(!std::filesystem::exists(files / "one"));
}

TEST_CASE("a compressed trace is known as one") {
  TemporaryFolder folder;
  REQUIRE(Program({program_path("known_calls")})
              .preloaded()
              .with("PKTMALLOC_TRACE", folder / "calls.zst")
              .run()
              .clean());
  check_refused(command({"report", "calls.zst"}).in(folder.path()).run(),
                "calls.zst is a trace; read it with: pktmalloc replay calls.zst");
}

TEST_CASE("what is of no kind, cut off or a pipe is refused as what was wanted") {
  Files files;
  files.write("text", "hello\n");
  files.write("empty", "");
  files.write("list", "[1]");
  files.write("object", "{\"content\": 1}");
  files.write("half", files.read("sizes.json").substr(0, 300));
  for (const std::string name : {"text", "empty", "list", "object", "half"}) {
    for (const Kind& kind : kKinds) {
      const Outcome outcome = command(reading(kind.reader, name)).in(files.path()).run();
      INFO(kind.reader << " " << name);
      check_refused(outcome, "pktmalloc: " + name + " is not a");
      check_refused(outcome, "(" + kind.option + "=FILE");
    }
  }
  const Outcome piped =
      Program({"bash", "-c", build_path("pktmalloc") + " tune <(cat statistics.json)"})
          .in(files.path())
          .run();
  check_refused(piped, "is not a whole file of sizes");
}

TEST_CASE("a file that is larger than the memory, and of no kind, is refused at once") {
  TemporaryFolder folder;
  folder.write("core", std::string("\x7f") + "ELF");
  std::filesystem::resize_file(folder / "core", uintmax_t{2} << 30);
  for (const std::string reader : {"stat", "report", "profile", "tune", "replay --info"}) {
    const std::string words = "ulimit -v 1000000; exec \"$0\" " + reader + " core";
    INFO(reader);
    check_refused(Program({"sh", "-c", words, build_path("pktmalloc")}).in(folder.path()).run(),
                  "pktmalloc: core is not a");
  }
}

TEST_CASE("a refusal is one line, whatever the file is called") {
  TemporaryFolder folder;
  for (const std::string reader : {"stat", "report", "profile", "tune", "replay", "objects"}) {
    INFO(reader);
    check_refused(command({reader, "no\n\x1b[2Jfile"}).in(folder.path()).run(), "no??[2Jfile");
  }
  check_refused(command({"stat", "one", "two\n"}).run(), "two? is one argument too many");
}

TEST_CASE("pktmalloc report profile is pktmalloc profile") {
  Files files;
  const auto same = [&](const std::vector<std::string>& words) {
    std::vector<std::string> shorter = {"profile"}, longer = {"report", "profile"};
    shorter.insert(shorter.end(), words.begin(), words.end());
    longer.insert(longer.end(), words.begin(), words.end());
    const Outcome one = command(shorter).in(files.path()).run();
    const Outcome two = command(longer).in(files.path()).run();
    INFO(one << two);
    CHECK(one.status == two.status);
    CHECK(one.out == two.out);
    CHECK(one.err == two.err);
    return two;
  };
  CHECK(has(same({"samples heap"}).out, "known_calls-plain, process "));
  CHECK(same({"--leaks", "--top", "1", "samples heap"}).status == 0);
  CHECK(same({"--collapsed", "samples heap", "samples heap"}).status == 0);
  CHECK(has(same({"--help"}).out, "report profile"));
  CHECK(same({}).status == 2);
  CHECK(same({"--html"}).status == 2);
  check_refused(same({"statistics.json"}), "pktmalloc report statistics.json");
  CHECK(command({"help", "report", "profile"}).run().out == command({"help", "profile"}).run().out);
  CHECK(has(command({"report", "--help"}).run().out, "./profile"));
}

TEST_CASE("a file of statistics by the name of profile is ./profile") {
  Files files;
  files.write("profile", files.read("statistics.json"));
  const std::vector<std::string> ways[] = {{"report", "./profile"},
                                           {"report", "--", "profile"},
                                           {"report", "statistics.json", "profile"}};
  for (const auto& words : ways) {
    const Outcome outcome = command(words).in(files.path()).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.out, "known_calls-plain"));
  }
  check_refused(command({"report", "profile", "profile"}).in(files.path()).run(),
                "profile is a file of statistics; read it with: pktmalloc report ./profile\n");
}

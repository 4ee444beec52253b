// SPDX-License-Identifier: MIT
// The files that options name: where they are, who may read them, and what is no file.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/temporary_folder.h"

namespace {

namespace fs = std::filesystem;

struct Written {
  std::string option, what;
};
const Written kWritten[] = {{"PKTMALLOC_STATS", "statistics to"},
                            {"PKTMALLOC_SIZES", "sizes to"},
                            {"PKTMALLOC_PROFILE", "the heap profile to"},
                            {"PKTMALLOC_TRACE", "the trace"}};

Program shell(const std::string& script, const TemporaryFolder& folder) {
  return Program({"sh", "-c", script}).in(folder.path());
}

// `hello`, which ends with status 7, as words for a shell.
std::string hello_with(const std::string& option, const std::string& path) {
  return "LD_PRELOAD=" + library_path() + " " + option + "=" + path + " " + program_path("hello") +
         " > /dev/null";
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::string refusal(const Written& written, const std::string& path, const std::string& why) {
  return "pktmalloc: cannot write " + written.what + " " + path + ": " + why + "\n";
}

}  // namespace

TEST_CASE("a relative path is in the folder where the program started") {
  for (const Written& written : kWritten) {
    TemporaryFolder folder;
    fs::create_directory(folder / "50%p");  // a percent sign of the folder's own
    fs::create_directory(folder / "elsewhere");
    // It goes elsewhere, and loses the descriptor of the trace.
    const Outcome outcome = Program({"/usr/bin/python3", "-c",
                                     "import os; os.chdir('../elsewhere'); os.closerange(3, 5000)"})
                                .preloaded()
                                .in(folder / "50%p")
                                .with(written.option, "%e.out")
                                .run();
    INFO(written.option << ": " << outcome);
    CHECK(outcome.clean());
    CHECK(fs::file_size(folder / "50%p/python3.out") > 500);
    CHECK(fs::is_empty(folder / "elsewhere"));
  }
}

TEST_CASE("a new file is its owner's alone, one that is replaced keeps its access rights") {
  for (const Written& written : kWritten) {
    INFO(written.option);
    TemporaryFolder folder;
    folder.write("shared", "old");
    REQUIRE(chmod((folder / "shared").c_str(), 0644) == 0);
    for (const std::string name : {"new", "shared"}) {
      const Outcome outcome =
          shell("umask 0; " + hello_with(written.option, "./" + name), folder).run();
      INFO(outcome);
      CHECK(outcome.status == 7);
      CHECK(outcome.err.empty());
      CHECK(fs::file_size(folder / name) > 100);
    }
    CHECK(mode_of(folder / "new") == 0600);
    CHECK(mode_of(folder / "shared") == 0644);
  }
}

TEST_CASE("a symbolic link is not followed, and told in one line") {
  for (const Written& written : kWritten) {
    TemporaryFolder folder;
    folder.write("target", "old");
    REQUIRE(symlink("target", (folder / "link").c_str()) == 0);
    REQUIRE(symlink("none", (folder / "dangling").c_str()) == 0);
    for (const std::string name : {"link", "dangling"}) {
      const Outcome outcome = shell(hello_with(written.option, folder / name), folder).run();
      INFO(outcome);
      CHECK(outcome.status == 7);
      CHECK(outcome.err == refusal(written, folder / name, "it is a symbolic link"));
      CHECK(fs::is_symlink(folder / name));
    }
    CHECK(folder.read("target") == "old");
    CHECK(!fs::exists(folder / "none"));
  }
}

TEST_CASE("descriptors and devices are written to as they are") {
  for (const Written& written : kWritten) {
    TemporaryFolder folder;
    for (const std::string path :
         {"/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2", "/proc/self/fd/2"}) {
      // A log is not emptied.
      const Outcome outcome =
          shell("printf %0500d 0 > log; LD_PRELOAD=" + library_path() + " " + written.option + "=" +
                    path + " " + program_path("known_calls") + " >> log 2>&1",
                folder)
              .run();
      INFO(written.option << "=" << path << ": " << outcome);
      CHECK(outcome.clean());
      CHECK(folder.read("log").compare(0, 500, std::string(500, '0')) == 0);
      CHECK(folder.read("log").size() > 700);
    }
    CHECK(shell(hello_with(written.option, "/dev/null"), folder).run().err.empty());
    CHECK(fs::is_character_file("/dev/null"));
  }
}

TEST_CASE("a report goes through a pipe") {
  TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe.json").c_str(), 0600) == 0);
  const Outcome outcome =
      shell("cat pipe.json & exec 3> pipe.json; " + hello_with("PKTMALLOC_STATS", "./pipe.json") +
                " 3>&-; exec 3>&-; wait",
            folder)
          .run();
  INFO(outcome);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find("\"program\": \"hello") != std::string::npos);
  CHECK(fs::is_fifo(folder / "pipe.json"));
}

TEST_CASE("a pipe that nobody reads stops no program, and is told in one line") {
  for (const Written& written : kWritten) {
    TemporaryFolder folder;
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    const Outcome outcome = shell(hello_with(written.option, folder / "pipe"), folder).run();
    INFO(outcome);
    CHECK(outcome.status == 7);
    CHECK(outcome.err == refusal(written, folder / "pipe", "nobody reads it"));
  }
}

TEST_CASE("a full pipe is waited for, but not for ever") {
  TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string full = "exec 3<> pipe; dd if=/dev/zero of=pipe oflag=nonblock 2> dd; ";
  const std::string hello = hello_with("PKTMALLOC_STATS", folder / "pipe");
  const Outcome unread = shell(full + hello, folder).run();
  INFO(unread);
  CHECK(unread.status == 7);
  CHECK(unread.err == refusal(kWritten[0], folder / "pipe", "its reader takes nothing"));
  const Outcome read =
      shell(full + "cat pipe > read 3>&- & " + hello + "; exec 3>&-; wait", folder).run();
  INFO(read);
  CHECK(read.err.empty());
  CHECK(folder.read("read").find("---- pktmalloc") != std::string::npos);
}

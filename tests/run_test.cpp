// SPDX-License-Identifier: MIT
// pktmalloc run: the real command, before real programs.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/refused.h"
#include "tests/setuid.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

using Words = std::vector<std::string>;

Program command(Words words) {
  words.insert(words.begin(), build_path("pktmalloc"));
  return Program(words);
}

Program run(Words words) {
  words.insert(words.begin(), "run");
  return command(words);
}

Program shell(const std::string& script) {
  return Program({"sh", "-c", script}).with("PKTMALLOC", build_path("pktmalloc"));
}

}  // namespace

TEST_CASE("two options that name one file are refused before the program starts") {
  TemporaryFolder folder;
  const Outcome outcome =
      Program({build_path("pktmalloc"), "run", "--sizes=same", "--stats=same", "echo", "started"})
          .in(folder.path())
          .run();
  check_refused(outcome, "--stats and --sizes name the same file");
  CHECK(outcome.out.empty());
  check_refused(run({"--page=same", "--trace=./same", "echo", "started"}).in(folder.path()).run(),
                "--page and --trace name the same file");
}

TEST_CASE("a program is run and a wrong option refused whichever standard streams are closed") {
  // Its status tells which the program has.
  const std::string program =
      "sh -c 'n=8; for f in 0 1 2; do [ ! -e /proc/self/fd/$f ] || n=$((n + (1 << f))); done; exit "
      "$n' ";
  for (const std::string closed :
       {"0<&-", "1>&-", "2>&-", "0<&- 1>&-", "0<&- 2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"}) {
    INFO(closed);
    const TemporaryFolder folder;
    const int alone = shell(program + closed).run().status;
    for (const std::string options : {"", "--stats=a.json "}) {
      const Outcome outcome =
          shell("$PKTMALLOC run " + options + program + closed).in(folder.path()).run();
      INFO(options << outcome);
      CHECK(outcome.status == alone);
    }
    CHECK(std::filesystem::exists(folder / "a.json"));
    CHECK(shell("$PKTMALLOC run --limit 1 " + program + closed).run().status == 2);
  }
}

TEST_CASE("what the command tries beforehand says nothing on stdout") {
  TemporaryFolder folder;
  for (const std::string descriptors : {"5", "6", "7"}) {
    const Outcome outcome =
        shell("ulimit -n " + descriptors + "; exec $PKTMALLOC run --stats=a.json echo ran")
            .in(folder.path())
            .run();
    INFO(descriptors << ": " << outcome);
    CHECK(outcome.out == "ran\n");
  }
}

TEST_CASE("the words of a command reach it as they are") {
  const Words words[] = {{"-l", "--color", "--stats"},
                         {"[a,b]", "", "--", "-h"},
                         {"--", "--help", "run"},
                         {"{x}", "a b", "=", "\"'\\"}};
  const std::string program = "for w in \"$@\"; do printf '%s\\n' \"$w\"; done";
  for (const Words& some : words) {
    std::string lines;
    for (const std::string& word : some) lines += word + "\n";
    for (const Words& before :
         {Words{}, Words{"--"}, Words{"--age", "2s", "--"}, Words{"--age=2s"}}) {
      Words all = before;
      all.insert(all.end(), {"sh", "-c", program, "sh"});
      all.insert(all.end(), some.begin(), some.end());
      const Outcome outcome = run(all).run();
      INFO(outcome);
      CHECK(outcome.status == 0);
      CHECK(outcome.out == lines);
      CHECK(outcome.err.empty());
    }
  }
  CHECK(run({"stat", "-c", "%F", "/"}).run().out == "directory\n");
}

TEST_CASE("the command is this process: its pid, status, signals and streams") {
  const Outcome pids = shell("$PKTMALLOC run sh -c 'echo $$' & echo $!; wait").run();
  INFO(pids);
  const size_t end = pids.out.find('\n');
  CHECK(pids.out.substr(0, end) == pids.out.substr(end + 1, end));
  CHECK(run({"sh", "-c", "exit 42"}).run().status == 42);
  CHECK(run({"sh", "-c", "kill -TERM $$"}).run().signal == SIGTERM);
  CHECK(shell("echo hello | $PKTMALLOC run cat").run().out == "hello\n");
  const Outcome ignored = shell("trap '' USR1; $PKTMALLOC run sh -c 'kill -USR1 $$; exit 3'").run();
  CHECK(ignored.status == 3);
}

TEST_CASE("the library serves the command, first of what is preloaded, and once") {
  const Outcome told = run({"--verbose", program_path("hello")}).run();
  INFO(told);
  CHECK(told.status == 7);
  CHECK(told.out == "hello\n");
  CHECK(told.err.find("pktmalloc: version") == 0);

  const std::string ours = "LD_PRELOAD=" + library_path();
  CHECK(run({"--dry-run", "true"}).run().out == ours + " \\\ntrue\n");
  const std::string both[] = {"libm.so.6 " + library_path(), library_path() + ":libm.so.6",
                              build_path("libpktmalloc-checked.so") + " libm.so.6", " :libm.so.6:"};
  for (const std::string& before : both) {
    const Outcome outcome = run({"--dry-run", "true"}).with("LD_PRELOAD", before).run();
    INFO(before << ": " << outcome);
    CHECK(outcome.out == "LD_PRELOAD='" + library_path() + " libm.so.6' \\\ntrue\n");
  }
}

TEST_CASE("statistics go to stderr, or to the file that was named from here") {
  const Outcome text = run({"--stats", program_path("hello")}).run();
  INFO(text);
  CHECK(text.out == "hello\n");
  CHECK(text.err.find("---- pktmalloc") == 0);

  TemporaryFolder folder;
  const Outcome outcome =
      run({"--stats=of %e.json", "sh", "-c", "cd / && exec " + program_path("hello")})
          .in(folder.path())
          .run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(has(folder.read("of hello-plain.json"), "\"program\":"));
  const Outcome pid =
      run({"--stats=pid.json", "sh", "-c", "echo $PKTMALLOC_TELL $$"}).in(folder.path()).run();
  const size_t space = pid.out.find(' ');
  CHECK(pid.out.substr(0, space) + "\n" == pid.out.substr(space + 1));
  CHECK(has(outcome.err, "pktmalloc: statistics are in " + (folder / "of hello-plain.json") +
                             "; read them with: pktmalloc report "));
}

TEST_CASE("a descriptor is written as it is, whatever lies behind it") {
  TemporaryFolder folder;
  for (const std::string file : {"/dev/fd/3", "/proc/self/fd/3"}) {
    const std::string script = build_path("pktmalloc") + " run --stats=" + file + " ls 3> behind";
    const Outcome outcome = Program({"sh", "-c", script}).in(folder.path()).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(folder.read("behind").find("pktmalloc") != std::string::npos);
  }
}

TEST_CASE("what goes to a descriptor stands between what others write there") {
  TemporaryFolder folder;
  for (const std::string ending : {"exit", "SIGKILL"}) {
    for (const std::string wanted :
         {"--stats=/dev/stdout", "--stats=/dev/fd/1", "--page=/dev/stdout"}) {
      const std::string script = "(echo before; " + build_path("pktmalloc") + " run " + wanted +
                                 " " + program_path("ends_as_told") + " " + ending +
                                 "; echo after) > all; ls -d /dev/*recording*";
      const Outcome outcome = Program({"bash", "-c", script}).in(folder.path()).run();
      INFO(wanted << ": " << outcome);
      const std::string all = folder.read("all");
      CHECK(all.starts_with("before\n"));
      CHECK(all.ends_with("after\n"));
      CHECK(all.find("ends_as_told") != std::string::npos);
      CHECK(outcome.out.empty());
    }
  }
}

TEST_CASE("options become those of the library, for a shell to read") {
  TemporaryFolder folder;
  const Outcome dry = run({"--dry-run", "--classes", "64,1536", "--age=250ms", "--background=0",
                           "--verbose", "--stats=/tmp/%p.prom", "echo", "it's", "a b"})
                          .run();
  INFO(dry);
  CHECK(dry.out == "LD_PRELOAD=" + library_path() +
                       " \\\nPKTMALLOC_AGE=250ms \\\nPKTMALLOC_BACKGROUND=0 \\\n"
                       "PKTMALLOC_CLASSES=64,1536 \\\nPKTMALLOC_STATS=/tmp/%p.prom \\\n"
                       "PKTMALLOC_VERBOSE=1 \\\necho 'it'\\''s' 'a b'\n");
  folder.write("a=b", "#!/bin/sh\n");
  REQUIRE(chmod((folder / "a=b").c_str(), 0755) == 0);
  const Outcome named = run({"--dry-run", "a=b", "c=d"}).with("PATH", folder.path()).run();
  INFO(named);
  CHECK(named.out == "LD_PRELOAD=" + library_path() + " \\\n'a=b' c=d\n");
  const Outcome done =
      shell(
          "eval \"$($PKTMALLOC run --dry-run --verbose /usr/bin/printf '%s|' \"it's\" \"a  b\")\"")
          .run();
  INFO(done);
  CHECK(done.out == "it's|a  b|");
  CHECK(done.err.find("pktmalloc: version") == 0);

  CHECK(has(run({"--dry-run", "--check=report", "true"}).run().out, "/libpktmalloc-checked.so"));
  CHECK(has(run({"--dry-run", "--checked", "true"}).run().out, "/libpktmalloc-checked.so"));
  CHECK(
      has(run({"--dry-run", "--quarantine-rate=1", "true"}).run().out, "/libpktmalloc-checked.so"));
  const Outcome guards = run({"--dry-run", "--sample-guard=5000", "--check=report", "true"}).run();
  CHECK(has(guards.out, "/libpktmalloc.so"));
  CHECK(has(guards.out, "PKTMALLOC_SAMPLE_GUARD=5000"));
  CHECK(has(run({"--dry-run", "--library", build_path("libpktmalloc.so.0"), "true"}).run().out,
            "LD_PRELOAD=" + build_path("libpktmalloc.so.0")));
  const Outcome while_running = run({"--dry-run", "--interval=10s", "--control", "true"}).run();
  CHECK(has(while_running.out,
            "PKTMALLOC_CONTROL=1 \\\nPKTMALLOC_STATS=1 \\\n"
            "PKTMALLOC_STATS_INTERVAL=10s \\\n"));
}

TEST_CASE("the next allocator is a mimalloc that the library loads, or is preloaded behind it") {
  CHECK(has(run({"--dry-run", "--next=default", "true"}).run().out, "PKTMALLOC_NEXT=default"));
  const std::string jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
  const std::string mimalloc = "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2";
  if (access(jemalloc.c_str(), R_OK) != 0 || access(mimalloc.c_str(), R_OK) != 0)
    skip("libjemalloc2 and libmimalloc2.0 are not installed");
  for (const std::string name : {"jemalloc", jemalloc.c_str()}) {
    const Outcome outcome =
        run({"--next", name, "--dry-run", "true"}).with("LD_PRELOAD", jemalloc).run();
    INFO(outcome);
    CHECK(outcome.out == "LD_PRELOAD='" + library_path() + " " + jemalloc + "' \\\ntrue\n");
  }
  CHECK(has(run({"--next", mimalloc, "--dry-run", "true"}).run().out,
            "PKTMALLOC_NEXT=" + mimalloc + " \\\n"));
  const Outcome served =
      run({"--next=mimalloc", program_path("large_blocks_come_from_mimalloc")}).run();
  INFO(served);
  CHECK(served.clean());
}

TEST_CASE("only this program: its interpreter is started without env in between") {
  TemporaryFolder folder;
  folder.write("script", "#!/usr/bin/env sh\necho $0 \"$@\"\n");
  REQUIRE(chmod((folder / "script").c_str(), 0755) == 0);
  const Outcome dry = run({"--dry-run", "--only-this", folder / "script", "a"}).run();
  INFO(dry);
  CHECK(has(dry.out, "PKTMALLOC_CHILDREN=0 \\\nsh " + (folder / "script") + " a\n"));
  const Outcome outcome = run({"--only-this", folder / "script", "a"}).run();
  INFO(outcome);
  CHECK(outcome.out == (folder / "script") + " a\n");
  folder.write("script", "#!/usr/bin/env -S sh -u\n");
  const Outcome split = run({"--dry-run", "--only-this", folder / "script", "a"}).run();
  INFO(split);
  CHECK(has(split.out, "PKTMALLOC_CHILDREN=0 \\\nsh -u " + (folder / "script") + " a\n"));
}

TEST_CASE("what cannot be done is told in one line, and nothing is started") {
  TemporaryFolder folder;
  folder.write("text", "echo started\n");
  folder.write("script", "#!/no/interpreter\n");
  std::filesystem::create_symlink("text", folder / "link");
  REQUIRE(chmod((folder / "script").c_str(), 0755) == 0);
  const std::string text = folder / "text";
  const struct {
    Words words;
    std::string part;
  } faults[] = {
      {{"run"}, "a command is missing"},
      {{"run", "--"}, "a command is missing"},
      {{"run", "no-such-command"}, "there is no command no-such-command"},
      {{"run", "/no/such"}, "/no/such"},
      {{"run", "/"}, "/ is not a program"},
      {{"run", text}, "cannot execute " + text},
      {{"run", folder / "script"}, "needs the interpreter /no/interpreter"},
      {{"run", "--colour", "echo", "started"},
       "run has no option --colour; pktmalloc run --help tells all"},
      {{"run", "--leeks", "echo", "started"},
       "run has no option --leeks; did you mean --leaks? pktmalloc run --help tells all"},
      {{"run", "--hardend", "--stats=x", "echo", "started"}, "did you mean --hardened?"},
      {{"run", "--quarantine-size=5", "echo", "started"}, "did you mean --quarantine-rate?"},
      {{"compare", "--export-c", "a.csv", "echo", "started"}, "did you mean --export-csv?"},
      {{"stat", "--jsno"}, "stat has no option --jsno; did you mean --json?"},
      {{"run", "--age"}, "run: --age lacks its value"},
      {{"run", "--age", "soon", "echo", "started"}, "run: --age=soon is not understood; accepted"},
      {{"run", "--classes=1,x", "echo", "started"}, "run: --classes=1,x"},
      {{"run", "--background=2", "echo", "started"}, "accepted: auto, 0 or 1"},
      {{"run", "--check=perhaps", "echo", "started"}, "accepted: abort or report"},
      {{"run", "--control=perhaps", "echo", "started"}, "run: --control takes no value"},
      {{"run", "--library=/no/such.so", "echo", "started"}, "/no/such.so"},
      {{"run", "--library=" + text, "echo", "started"}, text + " is not a library of pktmalloc"},
      {{"run", "--library=/bin/sh", "echo", "started"}, "is not a library of pktmalloc"},
      {{"run", "--library=x", "--checked", "echo", "started"}, "excludes"},
      {{"run", "--next=yesalloc", "echo", "started"}, "accepted: default, mimalloc, jemalloc"},
      {{"run", "--next=" + text, "echo", "started"}, "is not an allocator"},
      {{"run", "--next=/no/such.so", "echo", "started"}, "/no/such.so"},
      {{"run", "--stats=/no/such/a.json", "echo", "started"}, "cannot write /no/such/a.json"},
      {{"run", "--stats=/", "echo", "started"}, "cannot write /"},
      {{"run", "--stats=", "echo", "started"}, "run: --stats= lacks its value"},
      {{"run", "--page", "", "echo", "started"}, "run: --page lacks its value"},
      {{"run", "--stats=-", "echo", "started"}, "cannot write -: stdout is the program's"},
      {{"run", "--page", "-", "echo", "started"}, "cannot write -: stdout is the program's"},
      {{"run", "--profile", "/proc/x", "echo", "started"}, "cannot write /proc/x: /proc takes no"},
      {{"run", "--sizes=/proc/%p.x", "echo", "started"}, "cannot write /proc/%p.x: /proc takes no"},
      {{"run", "--trace", folder / "link", "echo", "started"}, "it is a symbolic link"},
      {{"run", "--stats", "no.json", "echo"}, "is named by --stats=no.json"},
      {{"run", "--age=1s", "--age=2s", "echo", "started"}, "run: --age is given 2 times"},
      {{"run", "--checked", "--trace=" + folder / "a", "echo", "started"},
       "run: --trace does nothing in the checked library"},
      {{"run", "--sizes=" + folder / "a", "--check=report", "echo", "started"},
       "run: --sizes does nothing in the checked library"},
      {{"run", "--checked", "--profile=" + folder / "a", "--threads", "echo", "started"},
       "run: --profile does nothing in the checked library"},
      {{"run", "--checked", "--leaks", "echo", "started"},
       "run: --leaks does nothing in the checked library"},
      {{"run", "--library=" + build_path("libpktmalloc-checked.so"), "--leaks", "echo", "started"},
       "run: --leaks does nothing in the checked library"},
      {{"run", "--leak-check", "--dry-run", "echo", "started"}, "excludes"},
      {{"run", "--rate=1", "echo", "started"}, "give --profile FILE or --leaks"},
      {{"run", "--depth=9", "echo", "started"}, "run: --depth is of the heap profile"},
      {{"run", "--depth=deep", "--leaks", "echo", "started"}, "run: --depth=deep"},
      {{"run", "--rate=often", "--leaks", "echo", "started"}, "run: --rate=often"},
      {{"run", "--checked", program_path("hello", "static")}, "before the checked library"},
      {{"profile", "--top", "many", "a.heap"}, "profile: --top: many is not a number from 0 to"},
      {{"fly"}, "there is no subcommand fly; the subcommands are run, "},
      {{"--fly"}, "there is no option --fly; the options are --help, --version"},
  };
  for (const auto& fault : faults) check_refused(command(fault.words).run(), fault.part);
  CHECK(folder.read("a.json").empty());
}

TEST_CASE("a program that no preload reaches is refused, unless it is forced") {
  TemporaryFolder folder;
  folder.write("a.c", "int main(void) { return 7; }\n");
  const std::string program = folder / "a";
  if (Program({"gcc", "-static", folder / "a.c", "-o", program}).run().status != 0)
    skip("there is no static libc");
  check_refused(run({program}).run(), "is linked statically");
  const Outcome forced = run({"--force", program}).run();
  INFO(forced);
  CHECK(forced.status == 7);
  CHECK(forced.err.empty());
}

TEST_CASE("where addresses are limited too far for the library a program is refused") {
  const auto limited = [](const std::string& words) {
    return shell("ulimit -v 500000; $PKTMALLOC " + words).run();
  };
  check_refused(limited("run echo started"), "below 512.0 MiB nothing is pooled");
  check_refused(limited("compare -n 1 echo started"), "below 512.0 MiB nothing is pooled");
  CHECK(limited("run --force echo started").out == "started\n");
}

TEST_CASE("options of the heap profile become those of the library") {
  const Outcome dry =
      run({"--dry-run", "--leaks", "--rate=1", "--stacks=frame_pointers", "--depth=200", "true"})
          .run();
  INFO(dry);
  CHECK(has(dry.out,
            "PKTMALLOC_PROFILE_DEPTH=200 \\\nPKTMALLOC_PROFILE_LEAKS=1 \\\n"
            "PKTMALLOC_PROFILE_RATE=1 \\\n"
            "PKTMALLOC_PROFILE_STACKS=frame_pointers \\\n"));
  CHECK(run({"--dry-run", "--rate=1", "true"}).with("PKTMALLOC_PROFILE", "/tmp/a").run().status ==
        0);
}

TEST_CASE("a setuid program is refused, and one that its owner runs is not") {
  TemporaryFolder folder;
  const std::string copy = setuid_copy(program_path("hello"), folder);
  CHECK(run({copy}).run().status == 7);
  const std::string nobody = "setpriv --reuid=65534 --clear-groups ";
  if (shell(nobody + "$PKTMALLOC --version").run().status != 0)
    skip("others cannot read the build");
  check_refused(shell(nobody + "$PKTMALLOC run " + copy).run(), "is setuid");
  const TemporaryFolder closed;
  const std::string file = closed / "in/x.json";
  check_refused(shell(nobody + "$PKTMALLOC run --stats=" + file + " true").run(),
                "cannot write " + file + ": ");
}

TEST_CASE("a file of statistics of a run before does not pass for one of this") {
  TemporaryFolder folder;
  folder.write("old.json", "old");
  const Outcome outcome =
      run({"--stats=old.json", "sh", "-c", "kill -KILL $$"}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.signal == SIGKILL);
  CHECK(has(folder.read("old.json"), "\"program\": \"sh\""));
}

TEST_CASE("output that is lost is told, and a reader that is gone ends the command") {
  TemporaryFolder folder;
  for (const std::string words :
       {"--version", "--help", "run --help", "run --dry-run true", "doctor true",
        "doctor --json true", "stat", "top --once", "compare -n 1 --with pktmalloc true"}) {
    INFO(words);
    check_refused(shell("$PKTMALLOC " + words + " > /dev/full").run(), "cannot write");
    // SIGPIPE is ignored, as some parents leave it to their children.
    const Outcome unread = shell(
                               "trap '' PIPE; rm -f pipe; mkfifo pipe; exec 3<>pipe 4>pipe 3<&-; "
                               "$PKTMALLOC " +
                               words + " >&4; exit $?")
                               .in(folder.path())
                               .run();
    INFO(unread);
    CHECK(unread.status == 128 + SIGPIPE);
    CHECK(unread.err.empty());
  }
  const Outcome closed = shell("$PKTMALLOC stat 99999999 2>&-").run();
  CHECK(closed.status == 2);
  CHECK(closed.signal == 0);
}

TEST_CASE("help shows an example, and the version") {
  CHECK(command({"help", "run"}).run().out == command({"run", "--help"}).run().out);
  CHECK(command({"help"}).run().out == command({"--help"}).run().out);
  CHECK(command({}).run().out == command({"--help"}).run().out);
  for (const Words& words : {Words{"run", "--help"}, Words{"doctor", "--help"}, Words{"--help"}}) {
    const Outcome outcome = command(words).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK(has(outcome.out, words.size() == 2 ? "Example: pktmalloc " + words[0] : "Subcommands:"));
  }
  CHECK(command({"--version"}).run().out.find("pktmalloc ") == 0);
}

// SPDX-License-Identifier: MIT
// pktmalloc tell: what a running process does when it is asked, for whom, and that it does not
// notice.
//
// Programs here wait until they are reached, so nothing depends on how fast the machine is.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/controlled.h"
#include "tests/diagnosis.h"
#include "tests/heap_profile.h"
#include "tests/program.h"
#include "tests/running.h"
#include "tests/setuid.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

// That every user may start.
const std::string kPython = "/usr/bin/python3";

// A client in Python's own words: prints the answer.
Words python_client(const std::string& id, const std::string& order) {
  return {kPython,
          "-c",
          "import os, socket, sys\n"
          "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
          "s.connect('\\0pktmalloc/%d/' % int(sys.argv[3]) + sys.argv[1])\n"
          "try: s.send(sys.argv[2].encode())\n"
          "except OSError: pass\n"
          "for n in 1, 2:\n"
          "  try:\n"
          "    print(s.recv(9999).decode(), end='')\n"
          "    break\n"
          "  except ConnectionResetError: pass",
          id,
          order,
          std::to_string([] {
            struct stat found {};
            stat("/proc/self/ns/pid", &found);
            return found.st_ino;
          }())};
}

Outcome as_user(const std::string& user, Words words) {
  const Words before = {"setpriv", "--reuid=" + user, "--clear-groups"};
  words.insert(words.begin(), before.begin(), before.end());
  return Program(words).run();
}

}  // namespace

TEST_CASE("a report is written where its option says, and the answer tells where") {
  for (const std::string& way : kWays) {
    TemporaryFolder folder;
    const Waiting program(controlled({{"PKTMALLOC_STATS", folder / "%n.json"},
                                      {"PKTMALLOC_SIZES", folder / "%n.sizes"},
                                      {"PKTMALLOC_PROFILE", folder / "%n.heap"}}),
                          way);
    const std::pair<std::string, std::string> reports[] = {
        {"stats", "statistics are in " + folder / "00001.json"},
        {"profile", "samples are in " + folder / "00002.heap"},
        {"sizes", "sizes are in " + folder / "00003.sizes"},
        {"stats", "statistics are in " + folder / "00004.json"}};
    for (const auto& [order, answer] : reports) {
      const Outcome outcome = tell({program.id, order}).run();
      INFO(way << ": " << outcome);
      CHECK(outcome.status == 0);
      CHECK(outcome.out == answer + "\n");
      CHECK(outcome.err.empty());
    }
    for (const Words& words : {Words{"report", folder / "00004.json"},
                               {"profile", folder / "00002.heap"},
                               {"tune", folder / "00003.sizes"}}) {
      Words all = {build_path("pktmalloc")};
      all.insert(all.end(), words.begin(), words.end());
      const Outcome read = Program(all).run();
      INFO(read);
      CHECK(read.status == 0);
    }
  }
}

TEST_CASE("an order may name a file, from the folder where it is given") {
  TemporaryFolder folder;
  const Waiting program(controlled());
  const Outcome outcome = tell({program.id, "stats", "a b.%n.json"}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "statistics are in " + folder / "a b.00001.json" + "\n");
  CHECK(has(folder.read("a b.00001.json"), "\"program\": \"tells_itself-pl"));
  const std::string missing = folder / "none/s.json";
  check_refused(tell({program.id, "stats", missing}).run(),
                "cannot write statistics to " + missing + ": No such file or directory");
  CHECK(tell({program.id, "stats", "s.txt"}).in(folder.path()).run().status == 0);
}

TEST_CASE("text goes to the stderr of a process whose option says so") {
  TemporaryFolder folder;
  Running::Environment environment = controlled({{"PKTMALLOC_STATS", "1"}});
  environment["LD_PRELOAD"] = library_path();
  Running program(
      {"sh", "-c", "exec " + program_path("tells_itself") + " waits 2> " + folder / "err"},
      environment);
  program.line("ready");
  const Outcome outcome = tell({std::to_string(program.pid()), "stats"}).run();
  INFO(outcome);
  CHECK(outcome.out == "statistics are on its stderr\n");
  CHECK(has(folder.read("err"), "---- pktmalloc "));
}

TEST_CASE("trim gives free memory back and tells how much") {
  const Waiting program(controlled({{"PKTMALLOC_AGE", "1h"}, {"PKTMALLOC_BACKGROUND", "0"}}));
  const Outcome outcome = tell({program.id, "trim"}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, " bytes are given back\n"));
  // 40 MiB are free; the program's one thread keeps two magazines.
  CHECK(std::stoul(outcome.out) > 30 << 20);
  CHECK(tell({program.id, "trim"}).run().out == "0 bytes are given back\n");
  // By whichever thread's id.
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + program.id + "/task")) {
    CHECK(tell({thread.path().filename(), "trim"}).run().out == "0 bytes are given back\n");
  }
}

TEST_CASE("what cannot be done is told in one line") {
  const Waiting program(controlled());
  const std::string all =
      "accepted: stats [FILE], profile [FILE], sizes [FILE], profile start, profile stop, "
      "trace start FILE, trace stop, trim";
  for (const Words& words : {Words{"dump"},
                             {"Stats"},
                             {"stats", "start"},
                             {"trim", "file"},
                             {"trim", "stop"},
                             {"stats\t"},
                             {"\033[2J"},
                             {std::string(3000, 'x')}}) {
    Words all_words = {program.id};
    all_words.insert(all_words.end(), words.begin(), words.end());
    check_refused(tell(all_words).run(), "is not understood; " + all);
  }
  check_refused(tell({program.id, std::string(9000, 'x')}).run(), "the order is too long");
  check_refused(tell({program.id, "stats", "a", "b"}).run(), "b is one argument too many");
  const std::string at = "process " + program.id + ": it was started without PKTMALLOC_";
  check_refused(tell({program.id, "stats"}).run(), at + "STATS; name a file");
  check_refused(tell({program.id, "profile"}).run(), at + "PROFILE");
  check_refused(tell({program.id, "profile", "/tmp/x"}).run(), at + "PROFILE");
  check_refused(tell({program.id, "sizes", "/tmp/x"}).run(), at + "SIZES");
  check_refused(tell({"one", "stats"}).run(), "one is no process id");
  check_refused(tell({"0", "stats"}).run(), "0 is no process id");
  check_refused(tell({program.id}).run(), "ORDER is required");
  check_refused(tell({"4194305", "stats"}).run(), "there is no process 4194305");
}

TEST_CASE("a process that has ended is no process") {
  Waiting program(controlled());
  CHECK(tell({program.id, "trim"}).run().status == 0);
  program.send(SIGKILL);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(program.pid()), &info, WEXITED | WNOWAIT) == 0);
  for (const Words& words : {Words{"stat", program.id},
                             {"top", "--once", program.id},
                             {"doctor", program.id},
                             {"tell", program.id, "trim"}}) {
    Words all = {build_path("pktmalloc")};
    all.insert(all.end(), words.begin(), words.end());
    check_refused(Program(all).run(), "process " + program.id + " has ended; its parent has not");
  }
  program.end();
  check_refused(tell({program.id, "trim"}).run(), "there is no process " + program.id);
}

TEST_CASE("a stopped process is told of at once, and obeys when it goes on") {
  const Waiting program(controlled());
  CHECK(tell({program.id, "trim"}).run().status == 0);
  program.send(SIGSTOP);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(program.pid()), &info, WSTOPPED | WNOWAIT) == 0);
  for (int i = 0; i < 3; ++i) {
    check_refused(tell({program.id, "trim"}).run(), "; kill -CONT " + program.id + " lets it go");
  }
  program.send(SIGCONT);
  CHECK(tell({program.id, "trim"}).run().status == 0);
  REQUIRE(ptrace(PTRACE_ATTACH, program.pid(), nullptr, nullptr) == 0);
  REQUIRE(waitpid(program.pid(), nullptr, 0) == program.pid());
  check_refused(tell({program.id, "trim"}).run(), "is told; its debugger can let it go on");
  REQUIRE(ptrace(PTRACE_DETACH, program.pid(), nullptr, nullptr) == 0);
}

TEST_CASE("the heap profile begins, pauses and goes on by order, for threads that are there") {
  for (const std::string& way : kWays) {
    TemporaryFolder folder;
    Program program({program_path("profiled_while_it_runs", way), folder / "heap"});
    if (way == "plain") program.preloaded();
    const Outcome outcome =
        program.with("PKTMALLOC_CONTROL", "1").with("PKTMALLOC_PROFILE_RATE", "1").run();
    INFO(way << ": " << outcome);
    CHECK(outcome.clean());
    const Bytes bytes =
        bytes_of(folder / "heap", {"before", "during", "in_thread", "after", "again"});
    const Bytes expected = {{"during", 50e3}, {"in_thread", 100e3}, {"again", 100e3}};
    CHECK(bytes == expected);
  }
}

TEST_CASE("a profile that cannot begin or end says why") {
  const Waiting program(controlled());
  const auto says = [](const std::string& id, const std::string& order) {
    return tell({id, "profile", order}).run();
  };
  check_refused(says(program.id, "stop"), "the heap profile is not under way");
  CHECK(says(program.id, "start").out == "the heap profile begins\n");
  check_refused(says(program.id, "start"), "the heap profile is under way already");
  CHECK(says(program.id, "stop").out == "the heap profile takes no more samples\n");
  check_refused(says(program.id, "stop"), "the heap profile is not under way");
  const Waiting guarded(controlled({{"PKTMALLOC_SAMPLE_GUARD", "1000"}}));
  check_refused(says(guarded.id, "start"), "does nothing beside PKTMALLOC_SAMPLE_GUARD");
}

TEST_CASE("programs work while their profile begins and ends again and again", "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_while_others_allocate",
        "free_in_another_thread", "thread_churn_is_bounded", "storm_of_stacks",
        "process_ends_with_its_last_thread"}) {
    TemporaryFolder folder;
    const std::string tells = "LD_PRELOAD= " + build_path("pktmalloc") + " tell $! profile ";
    const std::string script = program_path(name) + " & while kill -0 $! 2> /dev/null; do { " +
                               tells + "start; " + tells + "$PWD/heap; " + tells +
                               "stop; } > /dev/null 2>&1; done; wait $!";
    const Outcome outcome = Program({"bash", "-c", script})
                                .preloaded()
                                .in(folder.path())
                                .with("PKTMALLOC_CONTROL", "1")
                                .with("PKTMALLOC_PROFILE_RATE", "10KiB")
                                .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("system calls in which the program sleeps are never interrupted") {
  for (const std::string& way : kWays) {
    TemporaryFolder folder;
    Program program({program_path("sleeps_undisturbed", way), "stats", "profile", "trim", "sizes",
                     "stats " + folder / "named.prom"});
    if (way == "plain") program.preloaded();
    const Outcome outcome = program.with("PKTMALLOC_CONTROL", "1")
                                .with("PKTMALLOC_STATS", folder / "%p.json")
                                .with("PKTMALLOC_SIZES", folder / "%p.sizes")
                                .with("PKTMALLOC_PROFILE", folder / "%p.heap")
                                .run();
    INFO(way << ": " << outcome);
    CHECK(outcome.clean());
    CHECK(has(folder.read("named.prom"), "pktmalloc_allocs_total"));
  }
}

TEST_CASE(
    "descriptors of the program are its own, and clients without manners keep nobody waiting") {
  for (const std::string mode : {"often", "closed", "full", "silent", "rude", "children", "exec"}) {
    for (const std::string& way : kWays) {
      for (const std::string order : {"trim", "stats"}) {
        TemporaryFolder folder;
        Program program({program_path("tells_itself", way), mode, order});
        if (way == "plain") program.preloaded();
        const Outcome outcome = program.with("PKTMALLOC_CONTROL", "1")
                                    .with("PKTMALLOC_STATS", folder / "%p.json")
                                    .run();
        INFO(mode << " " << way << " " << order << ": " << outcome);
        CHECK(outcome.clean());
      }
    }
  }
}

TEST_CASE("what was the stack of a thread that ended by the system call exit is not written to") {
  for (const std::string& way : kWays) {
    Program program({program_path("tells_itself", way), "ended", "profile start"});
    if (way == "plain") program.preloaded();
    const Outcome outcome = program.with("PKTMALLOC_CONTROL", "1").run();
    INFO(way << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("programs with threads, forks and signals of their own end as without control",
          "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_while_others_allocate",
        "signals_interrupt_allocations", "detached_threads_work_while_main_exits",
        "vfork_and_exec_leave_the_parent_intact", "thread_churn_is_bounded",
        "process_ends_with_its_last_thread", "threads_that_never_allocate_leave_nothing",
        "main_thread_ends_before_others"}) {
    const Outcome outcome =
        Program({program_path(name)}).preloaded().with("PKTMALLOC_CONTROL", "1").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("who reads the output of a controlled program sees its end") {
  // Else the shell would wait for the sleeper, which is told once before it closes its output.
  const std::string tell_it = "LD_PRELOAD= " + build_path("pktmalloc") + " tell ";
  const Outcome outcome =
      Program({"bash", "-c",
               "id=$(perl -e 'if ($p = fork) { print $p; exit } push @x, q(a) x $_ for 1 .. 1000; "
               "system qq(" +
                   tell_it +
                   "$$ trim > /dev/null); close STDIN; close STDOUT; sleep 1000' < /dev/null); " +
                   tell_it + "$id trim; kill $id"})
          .preloaded()
          .with("PKTMALLOC_CONTROL", "1")
          .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, "are given back"));
}

TEST_CASE("only its user and root may tell a process") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv", kPython});
  const Waiting of_root(controlled());
  CHECK(Program(python_client(of_root.id, "trim")).run().out.find('+') == 0);
  const Outcome other = as_user("65534", python_client(of_root.id, "trim"));
  INFO(other);
  CHECK(other.out == "-the process belongs to another user");
  check_refused(as_user("65534", {build_path("pktmalloc"), "tell", of_root.id, "trim"}),
                "belongs to another user");

  // Not setpriv itself: it changes one thread's capabilities.
  Running of_nobody({"setpriv", "--reuid=65534", "--clear-groups", "env",
                     "LD_PRELOAD=" + library_path(), "PKTMALLOC_CONTROL=1",
                     program_path("tells_itself"), "waits"});
  of_nobody.line("ready");
  const std::string id = std::to_string(of_nobody.pid());
  CHECK(Program(python_client(id, "trim")).run().out.find('+') == 0);
  CHECK(as_user("65534", python_client(id, "trim")).out.find('+') == 0);
  CHECK(as_user("65533", python_client(id, "trim")).out == "-the process belongs to another user");
}

TEST_CASE("only root may tell a process that has changed its user") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv", kPython});
  Running process(
      {"perl", "-e", "use POSIX; $| = 1; POSIX::setuid(65534); print qq(ready\\n); sleep 1000"},
      Waiting::with_library(controlled(), "plain"));
  process.line("ready");
  const std::string id = std::to_string(process.pid());
  CHECK(as_user("65534", python_client(id, "trim")).out ==
        "-the process is protected: only root may tell it");
  CHECK(Program(python_client(id, "trim")).run().out.find('+') == 0);
}

TEST_CASE("a setuid program obeys nobody") {
  TemporaryFolder folder;
  const std::string copy = setuid_copy(program_path("tells_itself", "static"), folder);
  Running process({"setpriv", "--reuid=65534", "--clear-groups", copy, "waits"}, controlled());
  process.line("ready");
  check_refused(tell({std::to_string(process.pid()), "trim"}).run(), "does not listen");
}

TEST_CASE("a taken name is told, and who answers in a process's place is not believed") {
  skip_without({kPython});
  TemporaryFolder folder;
  // The socket of the name stays open behind the program that it becomes.
  const std::string take =
      "import os, socket\n"
      "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
      "def take(pid):\n"
      "  s.bind('\\0pktmalloc/%d/%d' % (os.stat('/proc/self/ns/pid').st_ino, pid))\n"
      "  s.listen()\n";
  const Running process({kPython, "-c",
                         take +
                             "take(os.getpid()); s.set_inheritable(True)\n"
                             "os.environ['LD_PRELOAD'] = os.environ['LIBRARY']\n"
                             "os.dup2(os.open(os.environ['ERR'], os.O_CREAT | os.O_WRONLY), 2)\n"
                             "os.execl('" +
                             program_path("tells_itself") + "', 'x', 'waits')"},
                        controlled({{"LIBRARY", library_path()}, {"ERR", folder / "err"}}));
  for (const auto end = end_of_patience();
       folder.read("err").empty() && std::chrono::steady_clock::now() < end;) {
    usleep(10'000);
  }
  CHECK(folder.read("err") ==
        "pktmalloc: pktmalloc tell cannot reach this process: Address already in use\n");
  Running robbed({"sh", "-c", kPython + " -c \"$SCRIPT\"; true"},
                 {{"SCRIPT", take + "take(os.getppid()); print('taken', flush=True)\n"
                                    "c = s.accept()[0]; c.recv(99); c.send(b'+hello')"}});
  robbed.line("taken");
  check_refused(tell({std::to_string(robbed.pid()), "trim"}).run(), "has taken its name");
}

TEST_CASE("root reaches a process in other namespaces by the id that it has outside") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"unshare"});
  const Words inside = {"unshare", "--net", "--pid", "--fork", "--kill-child", "env"};
  Words works = inside;
  works.push_back("true");
  if (Program(works).run().status != 0) skip("namespaces are refused here");
  Words words = inside;
  for (const std::string& word :
       {"LD_PRELOAD=" + library_path(), std::string("PKTMALLOC_CONTROL=1"),
        program_path("tells_itself"), std::string("waits")}) {
    words.push_back(word);
  }
  Running process(words);
  process.line("ready");
  const std::string outer = std::to_string(process.pid());
  std::ifstream children("/proc/" + outer + "/task/" + outer + "/children");
  std::string id;
  if (!(children >> id)) skip("this system does not list children");
  const Outcome outcome = tell({id, "trim"}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, " bytes are given back\n"));
}

TEST_CASE("a process that has no /proc any more obeys, and the doctor says so") {
  if (geteuid() != 0) skip("only root may change the root");
  TemporaryFolder folder;
  Running program(
      {"perl", "-e",
       "$| = 1; chroot $ARGV[0]; print qq(ready\\n);"
       "while (1) { my @more = map { 'x' x 50 } 1 .. 20000; select undef, undef, undef, 0.01; }",
       folder.path()},
      {{"LD_PRELOAD", library_path()}});
  program.line("ready");
  const std::string id = std::to_string(program.pid());
  const Outcome outcome = tell({id, "trim"}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, " bytes are given back"));
  CHECK(has(Program({build_path("pktmalloc"), "doctor", id}).run().out, "It obeys pktmalloc tell"));
}

TEST_CASE("a process obeys though another has the name that it would take without /proc") {
  Running program(
      {"perl", "-e",
       "$| = 1; print qq(ready\\n);"
       "while (1) { my @more = map { 'x' x 50 } 1 .. 20000; select undef, undef, undef, 0.01; }"},
      {{"LD_PRELOAD", library_path()}});
  program.line("ready");
  const std::string id = std::to_string(program.pid());
  Running other({kPython, "-c",
                 "import socket, sys, time\n"
                 "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                 "s.bind('\\0pktmalloc/0/' + sys.argv[1]); s.listen()\n"
                 "print('taken', flush=True); time.sleep(1000)",
                 id},
                {});
  other.line("taken");
  const Outcome outcome = tell({id, "trim"}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
}

TEST_CASE("the doctor says that a process obeys") {
  const Waiting with(controlled());
  const Waiting without({});
  CHECK(Diagnosis(doctor(with.id)).says("It obeys pktmalloc tell"));
  CHECK(!Diagnosis(doctor(without.id)).says("It obeys pktmalloc tell"));
}

TEST_CASE("pktmalloc run --control: the program obeys, and so do the programs that it starts") {
  const Outcome outcome = Program({build_path("pktmalloc"), "run", "--control", "bash", "-c",
                                   program_path("tells_itself") + " often trim && echo told"})
                              .run();
  INFO(outcome);
  CHECK(outcome.out == "told\n");
  CHECK(outcome.err.empty());
}

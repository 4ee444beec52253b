// SPDX-License-Identifier: MIT
// What is there after every kind of end: docs/command.md, "Whatever ends it", has the same rows.
//
// Where a test waits for the statistics of a program, it looks into the recording until they are
// there, so nothing depends on how fast the machine is.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "preload/formats/recording_format.h"
#include "tests/count.h"
#include "tests/heap_profile.h"
#include "tests/memory_group.h"
#include "tests/refused.h"
#include "tests/running.h"
#include "tests/size_record.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"
#include "tools/command/replay/trace.h"

namespace {

using pktmalloc::recording::Header;

const std::string kCommand = build_path("pktmalloc");
const std::string kProgram = program_path("ends_as_told");

std::vector<std::string> joined(std::vector<std::string> all,
                                const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The program under `pktmalloc run`, with these options.
Program kept(const std::vector<std::string>& options, const std::vector<std::string>& words,
             const TemporaryFolder& folder) {
  return Program(joined(joined({kCommand, "run"}, options), joined({kProgram}, words)))
      .in(folder.path())
      .with("PKTMALLOC_PROFILE_RATE", "1");
}

const std::vector<std::string> kAll = {"--sizes=a.sizes", "--profile=a.heap", "--trace=a.trace"};

struct End {
  const char* how;
  int status, signal;
};
const End kEnds[] = {
    {"exit", 3, 0},           {"_exit", 3, 0},          {"_Exit", 3, 0},
    {"quick_exit", 3, 0},     {"abort", -1, SIGABRT},   {"SIGINT", -1, SIGINT},
    {"SIGTERM", -1, SIGTERM}, {"SIGSEGV", -1, SIGSEGV}, {"SIGKILL", -1, SIGKILL},
};

struct Counts {
  uint64_t held = 0, pairs = 0, wasted = 0;
};

// All calls of the trace.
Counts traced(const std::string& path) {
  const pktmalloc::Trace trace = pktmalloc::read_trace(path);
  INFO(trace.warning);
  CHECK(trace.warning.empty());
  Counts counts;
  for (const pktmalloc::Call& call : trace.calls) {
    counts.held += call.bytes == 5000;
    counts.pairs += call.bytes == 100;
    counts.wasted += call.bytes == 3000;
  }
  return counts;
}

void check_all(const TemporaryFolder& folder) {
  const Json sizes = read(folder / "a.sizes");
  CHECK(sizes.at("classes").size() == 63);
  CHECK(sizes.at("memory_bytes") > 0);
  const Rows rows = rows_of(sizes);
  CHECK(rows.at({5000, 0}) == (::Row{1000, 1000, 1}));
  CHECK(rows.at({100, 0}).calls == 1000);
  CHECK(rows.count({3000, 0}) == 0);
  CHECK(bytes_of(folder / "a.heap", {"hold_some", "main", "waste_in_child"}) ==
        (Bytes{{"hold_some", 5e6}, {"main", 5e6}}));
  CHECK(bytes_of(folder / "a.heap", {"hold_some"}, "--total") == Bytes{{"hold_some", 5e6}});
  const Counts counts = traced(folder / "a.trace");
  CHECK(counts.held == 1000);
  CHECK(counts.pairs == 1000);
  CHECK(counts.wasted == 0);
}

// Nothing but the reports is left.
void check_tidy(const TemporaryFolder& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    INFO(entry.path());
    const std::string name = entry.path().filename();
    CHECK(name.find("recording") == std::string::npos);
    CHECK(name.find("tmp") == std::string::npos);
  }
}

const Json* class_of(const Json& statistics, uint64_t bytes) {
  for (const Json& c : statistics.at("classes")) {
    if (c.at("bytes") == bytes) return &c;
  }
  return nullptr;
}

uint64_t live_of(const Json& statistics, uint64_t bytes) {
  const Json* const found = class_of(statistics, bytes);
  return found == nullptr ? 0 : found->at("live").get<uint64_t>();
}

// The folder of recordings that `run` made in this one; waits for it.
std::string recordings(const TemporaryFolder& folder) {
  for (const auto end = end_of_patience(); std::chrono::steady_clock::now() < end;) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      const std::string name = entry.path().filename();
      const bool is_of_page = name.starts_with("pktmalloc-page-");  // where files are tried
      if (entry.is_directory() && !is_of_page && !std::filesystem::is_empty(entry.path())) {
        return entry.path();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error("there is no recording");
}

// A file may be renamed just now.
std::string only_file(const std::string& folder) {
  for (const auto end = end_of_patience(); std::chrono::steady_clock::now() < end;) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) return entry.path();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error("there is no file");
}

// Those whose name is like this, "a.*.json".
std::vector<std::string> all_of(const TemporaryFolder& folder, const std::string& pattern) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (fnmatch(pattern.c_str(), entry.path().filename().c_str(), 0) == 0) {
      all.push_back(entry.path());
    }
  }
  return all;
}

std::string only_of(const TemporaryFolder& folder, const std::string& pattern) {
  const std::vector<std::string> all = all_of(folder, pattern);
  return all.size() == 1 ? all[0] : "";
}

// Waits until the recording is as wanted.
void await(const std::string& path, const std::function<bool(const Header&)>& wanted) {
  // An empty file, which the program has yet to give its length, could not be read as mapped.
  for (const auto end = end_of_patience(); std::chrono::steady_clock::now() < end;) {
    if (std::filesystem::file_size(path) >= sizeof(Header)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(std::filesystem::file_size(path) >= sizeof(Header));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const void* const start = mmap(nullptr, sizeof(Header), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  REQUIRE(start != MAP_FAILED);
  bool seen = false;
  for (const auto end = end_of_patience(); !seen && std::chrono::steady_clock::now() < end;) {
    seen = wanted(*static_cast<const Header*>(start));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  munmap(const_cast<void*>(start), sizeof(Header));
  REQUIRE(seen);
}

// The statistics noted from outside are those of the program when it has done all.
bool has_all(const Header& header) {
  const pktmalloc::recording::Moment* const moment = header.outside.last();
  if (moment == nullptr) return false;
  uint64_t held = 0, freed = 0;
  for (unsigned i = 0; i < moment->snapshot.heap.classes; ++i) {
    const auto& c = moment->snapshot.heap.of[i];
    if (c.object_bytes == 5120) held = c.live;
    if (c.object_bytes == 112) freed = c.frees;
  }
  return held == 1000 && freed >= 1000;
}

// The program has come to its end, where it waits.
bool waits(const Header& header) {
  std::ifstream file("/proc/" + std::to_string(header.pid) + "/syscall");
  long call = -1;
  file >> call;
  return call == SYS_pause;
}

// `run` with these options; the program waits at its end.
Running waiting(const std::vector<std::string>& options, const TemporaryFolder& folder,
                const std::vector<std::string>& words) {
  std::vector<std::string> all = {"sh",          "-c",     "cd \"$0\" && exec \"$@\"",
                                  folder.path(), kCommand, "run"};
  return Running(joined(joined(all, options), joined({kProgram}, words)),
                 {{"PKTMALLOC_PROFILE_RATE", "1"}});
}

int status_of(const Running& running) {
  int status = -1;
  // Left for the end of Running.
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(running.pid()), &info, WEXITED | WNOWAIT) == 0);
  status = info.si_status;
  return status;
}

}  // namespace

TEST_CASE("sizes, profile and trace are whole after every end") {
  for (const End& end : kEnds) {
    DYNAMIC_SECTION(end.how) {
      TemporaryFolder folder;
      const Outcome outcome = kept(kAll, {end.how}, folder).run();
      INFO(outcome);
      CHECK(outcome.status == end.status);
      CHECK(outcome.signal == end.signal);
      for (const char* line :
           {"pktmalloc: sizes are in ", "pktmalloc: samples are in ", "pktmalloc: calls are in "}) {
        CHECK(has(outcome.err, line));
      }
      const bool told = has(outcome.err, ", ended by SIG");
      CHECK(told == (end.signal != 0));
      check_all(folder);
      check_tidy(folder);
    }
  }
}

TEST_CASE("statistics are there after every end, to the last call after those of its own") {
  for (const End& end : kEnds) {
    for (const std::string file : {"a.json", "a.prom", "a.txt"}) {
      DYNAMIC_SECTION(end.how << " " << file) {
        TemporaryFolder folder;
        const Outcome outcome = kept({"--stats=" + file}, {end.how}, folder).run();
        INFO(outcome);
        CHECK(outcome.status == end.status);
        CHECK(outcome.signal == end.signal);
        CHECK(has(outcome.err, "pktmalloc: statistics are in "));
        CHECK(!folder.read(file).empty());
        check_tidy(folder);
        if (file != "a.json") continue;
        const uint64_t live = live_of(read(folder / file), 5120);
        CHECK(live > 0);
        CHECK((end.signal != 0 || live == 1000));
      }
    }
  }
}

TEST_CASE("statistics on stderr are there after a signal, too") {
  TemporaryFolder folder;
  const Outcome outcome =
      kept({"--stats"}, {"SIGKILL"}, folder).with("TMPDIR", folder.path()).run();
  INFO(outcome);
  CHECK(outcome.signal == SIGKILL);
  CHECK(has(outcome.err, "---- pktmalloc"));
  CHECK(has(outcome.err, "allocated"));
  check_tidy(folder);
}

TEST_CASE("a signal from outside goes through the command, and the statistics are the last ones") {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGRTMIN + 1, SIGABRT, SIGSYS}) {
    DYNAMIC_SECTION(strsignal(signal)) {
      TemporaryFolder folder;
      Running run = waiting({"--stats=a.json"}, folder, {"pause"});
      const std::string path = only_file(recordings(folder));
      await(path, has_all);
      run.send(signal);
      CHECK(status_of(run) == signal);
      const Json statistics = read(folder / "a.json");
      CHECK(live_of(statistics, 5120) == 1000);
      CHECK(statistics.at("process").at("resident_bytes") > 0);
      check_tidy(folder);
    }
  }
}

// The system tells the first process of its session alone.
TEST_CASE("a terminal that is closed ends a program with which its session began") {
  TemporaryFolder folder;
  const std::string words = R"(
import os, pty, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may have started the test
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
while b"ready" not in os.read(terminal, 100): pass
os.close(terminal)
print("signal", os.WTERMSIG(os.waitpid(pid, 0)[1]), flush=True)
)";
  Running run({"python3", "-c", words, kCommand, "run", "--stats=" + (folder / "a.json"), "python3",
               "-c", "import time; print('ready', flush=True); time.sleep(600)"});
  CHECK(run.line("signal ") == std::to_string(SIGHUP));
  check_tidy(folder);
}

TEST_CASE("the command stops with its program and goes on with it, whoever is told to") {
  TemporaryFolder folder;
  const std::string words = "echo pid $$; exec sleep 600";
  Running run({kCommand, "run", "--stats=" + (folder / "a.json"), "sh", "-c", words});
  const pid_t child = std::stoi(run.line("pid "));
  REQUIRE(child != run.pid());
  const auto becomes = [&](int what) {  // of the command, which is our child
    siginfo_t info{};
    for (const auto end = end_of_patience(); std::chrono::steady_clock::now() < end;) {
      waitid(P_PID, static_cast<id_t>(run.pid()), &info, what | WNOHANG);
      if (info.si_pid == run.pid()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  const auto goes_on = [&] {
    std::string state = "T";
    for (const auto end = end_of_patience(); state == "T" && std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
      std::string id, name;
      stat >> id >> name >> state;
    }
    return state != "T";
  };
  for (const int signal : {SIGSTOP, SIGTSTP}) {
    kill(child, signal);
    REQUIRE(becomes(WSTOPPED));
    kill(child, SIGCONT);
    REQUIRE(becomes(WCONTINUED));
    CHECK(goes_on());
  }
  run.send(SIGTSTP);
  REQUIRE(becomes(WSTOPPED));
  run.send(SIGCONT);
  REQUIRE(becomes(WCONTINUED));
  CHECK(goes_on());
  kill(-run.pid(), SIGTSTP);  // as a terminal does
  REQUIRE(becomes(WSTOPPED));
  kill(-run.pid(), SIGCONT);
  REQUIRE(becomes(WCONTINUED));
  CHECK(goes_on());
  kill(child, SIGSTOP);
  REQUIRE(becomes(WSTOPPED));
  kill(child, SIGKILL);
  CHECK(status_of(run) == SIGKILL);
  check_tidy(folder);
}

TEST_CASE("reports are written where nobody reads what is told any more") {
  const auto unread = [](const std::string& words, const TemporaryFolder& folder) {
    return Program({"sh", "-c",
                    "mkfifo pipe; exec 3<>pipe 4>pipe 3<&-; rm pipe; (exec $PKTMALLOC run " +
                        words + " 2>&4); echo $?"})
        .in(folder.path())
        .with("PKTMALLOC", kCommand)
        .run();
  };
  for (const std::string option : {"--stats=", "--profile=", "--page "}) {
    TemporaryFolder folder;
    const Outcome outcome = unread(option + "a.html sh -c 'sleep .2; kill -KILL $$'", folder);
    INFO(option << outcome);
    CHECK(outcome.out == "137\n");
    CHECK(!folder.read("a.html").empty());
    check_tidy(folder);
  }
  TemporaryFolder folder;
  const std::string loses = program_path("holds_until_it_ends") + " return lose";
  CHECK(unread("--leak-check " + loses, folder).out == "said late23\n");
  // The program's own writes end it as ever.
  CHECK(unread("--stats=a.json sh -c 'echo lost >&2; echo alive'", folder).out == "141\n");
}

TEST_CASE("who asks for the command that waits is told of the program") {
  TemporaryFolder folder;
  Running run({kCommand, "run", "--control", "--stats=" + (folder / "a.json"),
               program_path("tells_itself"), "waits"});
  run.line("ready");
  const std::string id = std::to_string(run.pid());
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"stat", id}, {"stat", "--json", id}, {"top", "--once", id}, {"tell", id, "trim"}}) {
    const Outcome outcome = Program(joined({kCommand}, words)).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK((words[0] == "tell" || has(outcome.out, "tells_itself")));
  }
  CHECK(has(Program({kCommand, "doctor", id}).run().out, "It serves: "));
}

TEST_CASE("_exit in a signal handler, as servers end, loses nothing") {
  TemporaryFolder folder;
  Running run = waiting(joined(kAll, {"--stats=a.json"}), folder, {"_exit_in_a_handler"});
  // Sampled objects are the next allocator's.
  await(only_file(recordings(folder)), [](const Header& header) {
    return header.places > 0 && waits(header) && header.outside.last() != nullptr;
  });
  run.send(SIGTERM);
  status_of(run);
  CHECK(rows_of(read(folder / "a.sizes")).at({5000, 0}).calls == 1000);
  CHECK(bytes_of(folder / "a.heap", {"hold_some"}) == Bytes{{"hold_some", 5e6}});
  CHECK(traced(folder / "a.trace").held == 1000);
  CHECK(!folder.read("a.json").empty());
  check_tidy(folder);
}

TEST_CASE("children of fork, with handlers or without, write nothing into the parent's recording") {
  for (const std::string fork : {"fork", "raw_fork"}) {
    for (const std::string how : {"SIGKILL", "_exit"}) {
      DYNAMIC_SECTION(fork << ", " << how) {
        TemporaryFolder folder;
        const Outcome outcome = kept(kAll, {fork, how}, folder).run();
        INFO(outcome);
        CHECK((outcome.signal == SIGKILL || outcome.status == 3));
        check_all(folder);
        check_tidy(folder);
      }
    }
  }
}

TEST_CASE("what was held at the peak is known after a kill") {
  for (const std::string how : {"SIGKILL", "exit"}) {
    TemporaryFolder folder;
    const Outcome outcome = kept({"--profile=a.heap"}, {"peak", how}, folder).run();
    INFO(outcome);
    const std::vector<std::string> functions = {"hold_some", "hold_for_a_while"};
    CHECK(bytes_of(folder / "a.heap", functions) == Bytes{{"hold_some", 5e6}});
    const Bytes peak = {{"hold_some", 5e6}, {"hold_for_a_while", 3e6}};
    CHECK(bytes_of(folder / "a.heap", functions, "--peak") == peak);
    // 1000 pairs, and the last five that it held for a while: nothing was allocated after them.
    CHECK(bytes_of(folder / "a.heap", {"main"}, "--temporary") == Bytes{{"main", 1e5 + 5 * 6000}});
  }
}

TEST_CASE("deep stacks are kept, and whether they were cut") {
  for (const std::string depth : {"4", "256"}) {
    TemporaryFolder folder;
    const Outcome outcome =
        kept({"--profile=a.heap", "--depth=" + depth}, {"deep", "SIGKILL"}, folder).run();
    INFO(outcome);
    CHECK(outcome.signal == SIGKILL);
    const Outcome text = command({"--collapsed", folder / "a.heap"});
    INFO(text);
    const bool is_cut =
        has(text.out, "[deeper than is recorded];hold_deep;hold_deep;hold_deep;hold_deep ");
    CHECK(is_cut == (depth == "4"));
    // Each depth of it is a place of its own.
    const double places = depth == "4" ? 4 : 150;
    const auto found = lines(text.out);
    CHECK(std::count_if(found.begin(), found.end(),
                        [](const std::string& line) { return has(line, "hold_deep "); }) == places);
    CHECK(bytes_of(folder / "a.heap", {"hold_deep"}) == Bytes{{"hold_deep", 150 * 900}});
  }
}

TEST_CASE("what threads did before a kill is in the recordings") {
  TemporaryFolder folder;
  std::vector<std::string> options = kAll;
  options.back() = "--trace=a.trace.zst";
  const Outcome outcome = kept(options, {"threads", "SIGKILL"}, folder).run();
  INFO(outcome);
  CHECK(outcome.signal == SIGKILL);
  CHECK(rows_of(read(folder / "a.sizes")).at({700, 0}) == (::Row{1000, 1000, 4}));
  CHECK(bytes_of(folder / "a.heap", {"work"}) == Bytes{{"work", 7e5}});
  const pktmalloc::Trace trace = pktmalloc::read_trace(folder / "a.trace.zst");
  CHECK(trace.warning.empty());
  size_t by_threads = 0;
  for (const pktmalloc::Call& call : trace.calls) by_threads += call.bytes == 700;
  CHECK(by_threads == 1000);
}

TEST_CASE("what held the memory when the process was killed for want of memory") {
  MemoryGroup group;
  if (!group) skip("no cgroup with a limit of memory can be made here");
  REQUIRE(group.limit(64 << 20));
  TemporaryFolder folder;
  const Outcome outcome =
      Program(group.inside({kCommand, "run", "--profile=a.heap", "--stats=a.json",
                            "--sizes=a.sizes", "--trace=a.trace", kProgram, "out_of_memory"}))
          .in(folder.path())
          .run();
  INFO(outcome);
  CHECK(outcome.signal == SIGKILL);
  CHECK(bytes_of(folder / "a.heap", {"hold_some"}).at("hold_some") > 30e6);
  CHECK(rows_of(read(folder / "a.sizes")).at({5000, 0}).live_at_peak > 6000);
  CHECK(live_of(read(folder / "a.json"), 5120) > 3000);
  CHECK(traced(folder / "a.trace").held > 6000);
}

// A program that waits, and records in a.rec, to which it is in use from here on; its number is
// $id. Its parent never asks how it ended.
std::string recorded_by_one_that_waits() {
  return "(LD_PRELOAD=" + library_path() + " PKTMALLOC_SIZES=a.sizes PKTMALLOC_RECORDING=a.rec " +
         kProgram +
         " pause & echo $! > id; exec sleep 1000) & "
         "until " +
         kCommand +
         " recover a.rec 2>&1 | grep -q 'still runs'; do sleep 0.02; done; "
         "id=$(cat id); ";
}

TEST_CASE("a process that has ended counts so before its parent has noticed") {
  TemporaryFolder folder;
  const std::string script =
      recorded_by_one_that_waits() +
      "kill -9 $id; until grep -q ') Z ' /proc/$id/stat; do sleep 0.02; done; " + kCommand +
      " recover a.rec; status=$?; kill $!; exit $status";
  const Outcome outcome = Program({"bash", "-c", script}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(!folder.read("a.sizes").empty());
}

TEST_CASE("a recording is known in a folder of any name") {
  TemporaryFolder folder;
  const std::string place = folder / "two\nlines";
  std::filesystem::create_directory(place);
  const std::string script =
      recorded_by_one_that_waits() + kCommand + " recover a.rec; kill -9 $id $!; [ -e a.rec ]";
  const Outcome outcome = Program({"bash", "-c", script}).in(place).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.err, "still runs"));
}

TEST_CASE("no end waits for the reader of a pipe") {
  TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const Outcome outcome =
      Program({kCommand, "run", "--stats=pipe", kProgram, "exit"}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.status == 3);
  CHECK(has(outcome.err, "pipe: nobody reads it"));
}

TEST_CASE("a link that comes while the program runs is not followed") {
  TemporaryFolder folder;
  folder.write("victim", "old");
  for (const char* how : {"exit", "SIGKILL"}) {
    const std::string script = "ln -s victim a.json; exec " + kProgram + " " + how;
    const Outcome outcome =
        Program({kCommand, "run", "--stats=a.json", "bash", "-c", script}).in(folder.path()).run();
    INFO(outcome);
    CHECK(has(outcome.err, "a.json: it is a symbolic link"));
    CHECK(folder.read("victim") == "old");
    REQUIRE(unlink((folder / "a.json").c_str()) == 0);
  }
}

TEST_CASE("a trace in a descriptor has its end after every end") {
  for (const char* how : {"exit", "SIGKILL"}) {
    TemporaryFolder folder;
    const std::string script =
        kCommand + " run --trace=/dev/fd/7 " + kProgram + " " + how + " 7> a.trace";
    const Outcome outcome = Program({"bash", "-c", script}).in(folder.path()).run();
    INFO(outcome);
    CHECK(traced(folder / "a.trace").held == 1000);
  }
}

TEST_CASE("the trace of a program that became one without the library has its end") {
  TemporaryFolder folder;
  // It allocates, and becomes the other one with no environment.
  const Outcome outcome =
      Program({kCommand, "run", "--trace=a.trace", "env", "-i", "true"}).in(folder.path()).run();
  INFO(outcome);
  CHECK(has(outcome.err, "pktmalloc: calls are in "));
  CHECK(pktmalloc::read_trace(folder / "a.trace").warning.empty());
}

TEST_CASE("what cannot be recovered in a folder keeps nothing else back") {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "all");
  const std::string script =
      recorded_by_one_that_waits() +
      "kill -9 $id; until grep -q ') Z ' /proc/$id/stat; do sleep 0.02; done; "
      "mv a.rec all/1; echo > all/0; " +
      kCommand + " recover all; status=$?; kill $!; exit $status";
  const Outcome outcome = Program({"bash", "-c", script}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.status == 2);
  CHECK(has(outcome.err, "all/0"));
  CHECK(!folder.read("a.sizes").empty());
}

TEST_CASE("an alarm that was set before the command began ends the program") {
  TemporaryFolder folder;
  const Outcome outcome = Program({"python3", "-c",
                                   "import os, signal, sys\n"
                                   "signal.setitimer(signal.ITIMER_REAL, 0.3)\n"
                                   "os.execv(sys.argv[1], sys.argv[1:])",
                                   kCommand, "run", "--stats=a.json", "sleep", "1000"})
                              .in(folder.path())
                              .run();
  INFO(outcome);
  CHECK(outcome.signal == SIGALRM);
}

TEST_CASE("what a program cannot write at its end the command writes") {
  TemporaryFolder folder;
  const Outcome outcome = Program({kCommand, "run", "--stats=a.json", "--sizes=a.sizes", "bash",
                                   "-c", "ulimit -n 3; exec " + kProgram + " exit"})
                              .in(folder.path())
                              .run();
  INFO(outcome);
  CHECK(!has(outcome.err, "cannot write"));
  CHECK(has(outcome.err, "statistics are in"));
  CHECK(!folder.read("a.json").empty());
  CHECK(!folder.read("a.sizes").empty());
}

TEST_CASE(
    "if the command is killed too, so is the program, and pktmalloc recover writes the rest") {
  TemporaryFolder folder;
  Running run = waiting(joined(kAll, {"--stats=a.json"}), folder, {"pause"});
  const std::string place = recordings(folder);
  const std::string path = only_file(place);
  await(path, [](const Header& header) {
    return header.places > 0 && waits(header) && header.outside.last() != nullptr;
  });
  const Outcome refused = Program({kCommand, "recover", path}).run();
  check_refused(refused, "still runs");
  run.send(SIGKILL);
  status_of(run);
  CHECK(folder.read("a.sizes").empty());
  Outcome recovered;
  for (const auto end = end_of_patience(); std::chrono::steady_clock::now() < end;) {
    recovered = Program({kCommand, "recover", place}).run();
    if (recovered.status == 0) break;  // the program takes a moment to end
  }
  INFO(recovered);
  CHECK(recovered.status == 0);
  check_all(folder);
  CHECK(!folder.read("a.json").empty());
  check_tidy(folder);
}

TEST_CASE("a page shows a killed program's memory over time") {
  TemporaryFolder folder;
  Running run(
      joined({"env", "TMPDIR=" + folder.path(), kCommand, "run", "--page", folder / "a.html"},
             {kProgram, "pause"}),
      {{"PKTMALLOC_PROFILE_RATE", "64KiB"}});
  const std::string path = only_file(recordings(folder));
  uint64_t noted = 0;
  int later = 0;  // readings
  await(path, [&noted, &later](const Header& header) {
    const pktmalloc::recording::Moment* const moment = header.outside.last();
    // Sampled objects are not in the classes.
    if (moment == nullptr || moment->snapshot.process.allocated_bytes < 4'000'000) return false;
    later += noted != 0 && moment->time_ms > noted;
    noted = moment->time_ms;
    return later >= 3;
  });
  run.send(SIGTERM);
  CHECK(status_of(run) == SIGTERM);
  const std::string page = folder.read("a.html");
  CHECK(page.find("most seen live") != std::string::npos);
  CHECK(page.find("bytes by place, over ") != std::string::npos);
  CHECK(page.find("<b>Page faults</b>") != std::string::npos);
  CHECK(page.find("hold_some") != std::string::npos);
}

TEST_CASE("files of programs that the program started are named, and nobody else's") {
  TemporaryFolder folder;
  folder.write("b.1.json", "of long ago");
  std::filesystem::last_write_time(
      folder / "b.1.json", std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const Outcome outcome =
      Program({kCommand, "run", "--stats=%e.%p.json", "sh", "-c", "env true && exec env env true"})
          .in(folder.path())
          .run();
  INFO(outcome);
  std::string line;
  for (std::istringstream lines(outcome.err); std::getline(lines, line);) {
    if (line.find("programs that it started wrote ") != std::string::npos) break;
  }
  CHECK(line.find("/true.") != std::string::npos);
  CHECK(line.find(", ") == std::string::npos);
  CHECK(line.find("b.1") == std::string::npos);
  CHECK(Program({kCommand, "run", "--stats=%p.json", "true"})
            .in(folder.path())
            .run()
            .err.find("started") == std::string::npos);
}

TEST_CASE("a program without the command keeps its recording where PKTMALLOC_RECORDING says") {
  TemporaryFolder folder;
  const auto recorded_by_itself = [&](const std::string& how) {
    return Program({kProgram, how})
        .preloaded()
        .in(folder.path())
        .with("PKTMALLOC_RECORDING", "./%p.recording")
        .with("PKTMALLOC_SIZES", "./a.sizes")
        .with("PKTMALLOC_STATS", "./a.json")
        .run();
  };
  const Outcome ended = recorded_by_itself("exit");
  INFO(ended);
  CHECK(ended.status == 3);
  CHECK(!folder.read("a.sizes").empty());
  check_tidy(folder);
  std::filesystem::remove(folder / "a.sizes");
  CHECK(recorded_by_itself("SIGSEGV").signal == SIGSEGV);
  std::string recording;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".recording") recording = entry.path();
  }
  REQUIRE(!recording.empty());
  struct stat file {};
  REQUIRE(stat(recording.c_str(), &file) == 0);
  CHECK((file.st_mode & 0777) == 0600);
  const Outcome recovered = Program({kCommand, "recover", recording}).run();
  INFO(recovered);
  CHECK(recovered.status == 0);
  CHECK(rows_of(read(folder / "a.sizes")).at({5000, 0}) == (::Row{1000, 1000, 1}));
  CHECK(live_of(read(folder / "a.json"), 5120) > 0);
  check_tidy(folder);
}

TEST_CASE("who chose a place for the recording has it while something is missing, and no longer") {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "gone");
  const auto run = [&](const std::string& script) {
    return Program({kCommand, "run", "--stats=gone/a.json", "bash", "-c", script})
        .in(folder.path())
        .with("PKTMALLOC_RECORDING", folder / "own")
        .run();
  };
  CHECK(run("exec " + kProgram + " exit").status == 3);
  CHECK(!std::filesystem::exists(folder / "own"));
  const Outcome outcome = run("mv gone other; exec " + kProgram + " exit");
  INFO(outcome);
  CHECK(outcome.status == 3);
  CHECK(has(outcome.err, "cannot write statistics to " + (folder / "gone/a.json")));
  CHECK(has(outcome.err, "pktmalloc recover " + (folder / "own")));
  std::filesystem::rename(folder / "other", folder / "gone");
  CHECK(Program({kCommand, "recover", folder / "own"}).run().status == 0);
  CHECK(!std::filesystem::exists(folder / "own"));
  CHECK(live_of(read(folder / "gone/a.json"), 5120) > 0);
}

TEST_CASE("a report that went with its folder is told as lost") {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "gone");
  const Outcome outcome = Program({kCommand, "run", "--stats=gone/a.json", "bash", "-c",
                                   "rm -r gone; exec " + kProgram + " exit"})
                              .in(folder.path())
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 3);
  CHECK(has(outcome.err, "cannot write statistics to "));
}

TEST_CASE("programs that the command started leave theirs, in files of their own") {
  TemporaryFolder folder;
  const std::string script = kProgram + " SIGKILL; exit 5";
  const auto run = [&](const std::string& file) {
    return Program({kCommand, "run", "--sizes=" + file, "bash", "-c", script})
        .in(folder.path())
        .run();
  };
  const Outcome apart = run("%e.%p.sizes");
  INFO(apart);
  CHECK(apart.status == 5);
  CHECK(!only_of(folder, "bash.*.sizes").empty());
  const std::string killed = only_of(folder, "ends_as_told-plain.*.sizes");
  CHECK(rows_of(read(killed)).at({5000, 0}).calls == 1000);

  const Outcome beside = run("one.sizes");
  INFO(beside);
  CHECK(beside.status == 5);
  CHECK(read(folder / "one.sizes").at("program") == "bash");
  const std::string child = only_of(folder, "one.*.sizes");
  CHECK(rows_of(read(child)).at({5000, 0}).calls == 1000);
  CHECK(has(beside.err, "sizes are in " + child));
  check_tidy(folder);
}

TEST_CASE("programs that the command started write beside its files, never over them") {
  TemporaryFolder folder;
  const std::string hello = program_path("hello") + " > /dev/null; ";
  const Outcome outcome =
      Program({kCommand, "run", "--stats=a.json", "--profile=heap", "--trace=a.trace.zst",
               "--sizes=%e.sizes", "bash", "-c", hello + hello + "exit 5"})
          .in(folder.path())
          .run();
  INFO(outcome);
  CHECK(outcome.status == 5);
  CHECK(read(folder / "a.json").at("program") == "bash");
  CHECK(read(folder / "bash.sizes").at("program") == "bash");
  CHECK(pktmalloc::read_trace(folder / "a.trace.zst").program() == std::string("bash"));
  CHECK(!folder.read("heap").empty());
  for (const std::string pattern : {"a.*.json", "heap.*", "a.trace.*.zst", "hello-plain.*.sizes"}) {
    CHECK(all_of(folder, pattern).size() == 2);
  }
  for (const std::string& path : all_of(folder, "a.*.json")) {
    CHECK(read(path).at("program") == "hello-plain");
    CHECK(has(outcome.err, path));
  }
  CHECK(count(outcome.err, "programs that it started wrote ") == 1);
  check_tidy(folder);
  // What is no file is shared as ever.
  const Outcome shared = Program({kCommand, "run", "--stats=/dev/stdout", "bash", "-c",
                                  program_path("hello") + "; exit 5"})
                             .in(folder.path())
                             .run();
  CHECK(count(shared.out, "---- pktmalloc") == 2);
}

TEST_CASE("a full disc is called so, before the program starts where that can be known") {
  TemporaryFolder folder;
  const std::string mounted = "mount -t tmpfs -o size=256k none . && cd \"$PWD\" && ";
  const auto there = [&](const std::string& script) {
    return Program({"unshare", "--mount", "sh", "-c", mounted + script})
        .in(folder.path())
        .with("PKTMALLOC", kCommand)
        .with("PROGRAM", program_path("hello"))
        .with("LIBRARY", library_path())
        .run();
  };
  if (there("true").status != 0) return leave_out("no file system of its own is to be had");
  const std::string fill = "head -c 300k /dev/zero > fill 2> /dev/null; ";
  for (const char* option : {"--stats=a.json", "--profile=a", "--trace=a", "--page=a.html"}) {
    check_refused(there(fill + "$PKTMALLOC run " + option + " $PROGRAM"),
                  "No space left on device");
  }
  const Outcome full = there(
      fill + "PKTMALLOC_RECORDING=./r PKTMALLOC_SIZES=/dev/null LD_PRELOAD=$LIBRARY $PROGRAM");
  INFO(full);
  CHECK(full.status == 7);
  CHECK(full.out == "hello\n");
  CHECK(has(full.err, "/r: No space left on device; what is not written at the end will be lost"));
  const Outcome filled = there(
      "$PKTMALLOC run --stats=a.json sh -c 'while printf %4096d 0; do :; done > fill 2> /dev/null; "
      "exec $PROGRAM'");
  INFO(filled);
  CHECK(filled.status == 7);
  const std::string full_file = (folder / "a.json") + ": No space left";
  const bool told = has(filled.err, "cannot write " + full_file) ||
                    has(filled.err, "cannot write statistics to " + full_file);
  CHECK(told);  // by the command, or by the library
}

TEST_CASE("a place that takes no recording is told in one line, and the program works as ever") {
  TemporaryFolder folder;
  const auto refused = [&](const std::string& path) {
    return Program({program_path("hello")})
        .preloaded()
        .with("PKTMALLOC_RECORDING", path)
        .with("PKTMALLOC_SIZES", folder / "a.sizes");
  };
  const std::string line = "; what is not written at the end will be lost\n";
  for (const Outcome& outcome : {refused("/no/such/folder/r").run(), refused("/dev/full").run(),
                                 refused(folder / "r").limit(RLIMIT_FSIZE, 1 << 16).run()}) {
    INFO(outcome);
    CHECK(outcome.status == 7);
    CHECK(outcome.out == "hello\n");
    CHECK(outcome.err.find("pktmalloc: cannot record in ") == 0);
    CHECK(outcome.err.find(line) == outcome.err.size() - line.size());
    CHECK(read(folder / "a.sizes").at("program") == "hello-plain");
  }
  // Nothing to report, nothing to record.
  const Outcome idle =
      Program({program_path("hello")}).preloaded().with("PKTMALLOC_RECORDING", folder / "r").run();
  CHECK(idle.err.empty());
  CHECK(!std::filesystem::exists(folder / "r"));
}

TEST_CASE("what a program recorded is not told of one that it became under another user") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv", "perl"});
  const auto ran = [](const std::string& option, const std::string& script,
                      const TemporaryFolder& folder) {
    REQUIRE(chmod(folder.path().c_str(), 0777) == 0);
    return Program({kCommand, "run", option, "sh", "-c", script}).in(folder.path()).run();
  };
  const std::string become = "exec setpriv --reuid=65534 --clear-groups perl -e ";
  const std::string work = "$x[$_] = [1] for 1 .. 3e5; ";
  // The last: no name tells them apart.
  for (const std::string& script : std::vector<std::string>{
           become + "'" + work + "'", "setpriv --reuid=65534 --clear-groups perl -e 1; exit",
           "exec perl -e '$> = $< = 65534; exec \"perl\", \"-e\", \"1\"'"}) {
    for (const std::string name : {"a.json", "a.heap"}) {
      TemporaryFolder folder;
      const Outcome outcome =
          ran((name == "a.json" ? "--stats=" : "--profile=") + name, script, folder);
      INFO(script << ": " << outcome);
      for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        INFO(entry.path());
        struct stat report {};
        REQUIRE(stat(entry.path().c_str(), &report) == 0);
        const bool is_of_shell = entry.path().filename() == name && has(script, "exit");
        CHECK(report.st_uid == (is_of_shell ? 0 : 65534));
      }
      check_tidy(folder);
    }
  }
  for (const std::string option : {"--stats=a.json", "--profile=a.json"}) {
    TemporaryFolder folder;
    const Outcome outcome = ran(option, become + "'" + work + "kill KILL, $$'", folder);
    INFO(outcome);
    CHECK(outcome.signal == SIGKILL);
    CHECK(has(outcome.err, "left no recording: its reports are lost"));
    CHECK(folder.read("a.json").empty());
    check_tidy(folder);
  }
  TemporaryFolder folder;
  ran("--page=a.html", become + "'" + work + "sleep 1; kill KILL, $$'", folder);
  CHECK(has(folder.read("a.html"), "<title>perl "));
}

TEST_CASE("a program that can have no recording keeps the report that it wrote itself") {
  for (const std::string option : {"--stats=a.json", "--profile=a.json"}) {
    TemporaryFolder folder;
    const Outcome outcome = Program({kCommand, "run", option, "bash", "-c",
                                     "ulimit -f 100; exec " + kProgram + " exit"})
                                .in(folder.path())
                                .run();
    INFO(outcome);
    CHECK(outcome.status == 3);
    CHECK(has(outcome.err, "cannot record in "));
    CHECK(has(folder.read("a.json"), "ends_as_told"));
    check_tidy(folder);
  }
}

TEST_CASE("what is read of a program without a recording is not put into that of the one before") {
  skip_without({"perl"});
  TemporaryFolder folder;
  const Outcome outcome = Program({kCommand, "run", "--stats=a.json", "sh", "-c",
                                   "exec env -u PKTMALLOC_RECORDING perl -e "
                                   "'$x[$_] = [1] for 1 .. 3e5; sleep 1; kill KILL, $$'"})
                              .in(folder.path())
                              .run();
  INFO(outcome);
  uint64_t live = 0;
  const Json statistics = read(folder / "a.json");
  for (const Json& c : statistics.at("classes")) live += c.at("live").get<uint64_t>();
  CHECK(statistics.at("program") == "env");
  CHECK(live < 100000);
}

TEST_CASE("a program that gives up its user keeps its recording") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"perl"});
  TemporaryFolder folder;
  const Outcome outcome = Program({kCommand, "run", "--stats=a.json", "perl", "-e",
                                   "$> = 65534; $x[$_] = [1] for 1 .. 3e5; kill KILL, $$"})
                              .in(folder.path())
                              .run();
  INFO(outcome);
  CHECK(has(outcome.err, "perl, process "));
  CHECK(read(folder / "a.json").at("program") == "perl");
  const Outcome ended = Program({kCommand, "run", "--stats=b.json", "perl", "-e", "$> = 65534"})
                            .in(folder.path())
                            .run();
  INFO(ended);
  CHECK(ended.err.starts_with("pktmalloc: statistics are in "));
  CHECK(read(folder / "b.json").at("program") == "perl");
  check_tidy(folder);
}

TEST_CASE("where no process can be started nothing is left") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv", "bash"});
  TemporaryFolder folder;
  REQUIRE(chmod(folder.path().c_str(), 0777) == 0);
  check_refused(Program({"setpriv", "--reuid=65534", "--clear-groups", "bash", "-c",
                         "ulimit -u 0; exec " + kCommand + " run --stats=a.json true"})
                    .in(folder.path())
                    .run(),
                "run: cannot start a process: ");
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("what is no recording, a damaged one or somebody else's is refused") {
  TemporaryFolder folder;
  folder.write("text", std::string(1 << 20, 'x'));
  check_refused(Program({kCommand, "recover", folder / "text"}).run(), "is not a recording");
  check_refused(Program({kCommand, "recover", folder / "none"}).run(), "cannot read");
  std::string damaged(1 << 20, '\xff');
  memcpy(damaged.data(), pktmalloc::recording::kMagic, sizeof pktmalloc::recording::kMagic);
  memcpy(damaged.data() + 8, &pktmalloc::recording::kVersion, 4);
  folder.write("damaged", damaged);
  check_refused(Program({kCommand, "recover", folder / "damaged"}).run(), "is damaged");
  std::filesystem::create_directory(folder / "empty");
  check_refused(Program({kCommand, "recover", folder / "empty"}).run(),
                "there is no recording in " + (folder / "empty"));
  CHECK(std::filesystem::exists(folder / "empty"));
  // Each is tried.
  const Outcome both =
      Program({kCommand, "recover", folder / "damaged", folder / "empty", folder / "text"}).run();
  CHECK(both.status == 2);
  CHECK(lines(both.err).size() == 3);
  if (geteuid() != 0) return leave_out("only root can give a file away");
  REQUIRE(chown((folder / "damaged").c_str(), 65534, 65534) == 0);
  check_refused(Program({kCommand, "recover", folder / "damaged"}).run(), "another user");
}

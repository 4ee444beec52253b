// SPDX-License-Identifier: MIT
// `pktmalloc top` as a user sees it: on a terminal, which is tmux here, and as text.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "tests/program.h"
#include "tests/refused.h"
#include "tests/running.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"
#include "tests/terminal.h"

namespace {

// The numbers in the first column of the table, in its order.
std::vector<int> classes_of(const std::string& screen) {
  std::vector<int> classes;
  bool in_table = false;
  for (const std::string& line : lines(screen)) {
    if (in_table && (line.empty() || line.rfind("by ", 0) == 0)) break;
    if (in_table) classes.push_back(std::stoi(line.substr(0, 7)));
    if (line.rfind("    all", 0) == 0) in_table = true;
  }
  return classes;
}

// Of UTF-8.
ptrdiff_t characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

bool ascending(const std::vector<int>& numbers) {
  return !numbers.empty() && std::is_sorted(numbers.begin(), numbers.end());
}

bool descending(const std::vector<int>& numbers) {
  return !numbers.empty() && std::is_sorted(numbers.rbegin(), numbers.rend());
}

Running::Environment preloaded() { return {{"LD_PRELOAD", library_path()}}; }

// A process to look at.
struct Target {
  explicit Target(const std::string& mode)
      : program({program_path("is_read_from_outside"), mode, folder / "inside.json", "2"},
                preloaded()),
        pid(program.line("ready ")) {}
  std::string top() const { return build_path("pktmalloc") + " top --delay 0.2 " + pid; }

  TemporaryFolder folder;
  Running program;
  std::string pid;
};

// As it was before: the shell answers, its input is echoed, and the old lines are there again.
void check_restored(Terminal& terminal) {
  terminal.command("stty -a | grep -c ' echo '; echo over");
  const std::string screen = terminal.until("\nover");
  INFO(screen);
  CHECK(screen.find("\n1\nover") != std::string::npos);
  CHECK(screen.find("before") != std::string::npos);
  CHECK(screen.find("committed") == std::string::npos);
}

}  // namespace

TEST_CASE("top fits 80 columns and 24 rows, shows rates, and q ends it") {
  skip_without({"tmux"});
  const Target target("works");
  Terminal terminal(80, 24);
  terminal.command("echo before");
  terminal.command(target.top() + "; echo status=$?");
  // With rates: millions a second, which is no "-" and not less than a thousand.
  const std::string screen = terminal.until([](const std::string& text) {
    const size_t at = text.find("\n    all");
    return at != std::string::npos && (text.substr(at, 40).find('k') != std::string::npos ||
                                       text.substr(at, 40).find('M') != std::string::npos);
  });
  INFO(screen);
  const std::vector<std::string> lines = ::lines(screen);
  REQUIRE(lines.size() == 24);
  for (const std::string& line : lines) CHECK(characters(line) <= 80);
  CHECK(lines[0].rfind("is_read_from_outside-pla, process " + target.pid, 0) == 0);
  CHECK(lines[6].rfind("memory     ", 0) == 0);
  CHECK(lines[7].find("  most ") != std::string::npos);
  CHECK(lines[8].rfind("allocs/s   ", 0) == 0);
  CHECK(lines[10] ==
        "  class   live allocs/s  frees/s threads  depot  slabs committed  slack purged");
  CHECK(lines[11].find(" - ") == std::string::npos);
  CHECK(lines[23].rfind("by committed; h help", 0) == 0);
  CHECK(screen.find("\n   5120 ") != std::string::npos);
  terminal.press("q");
  CHECK(terminal.until("\nstatus=").find("\nstatus=0") != std::string::npos);
  check_restored(terminal);
}

TEST_CASE("keys sort, turn and scroll the table") {
  skip_without({"tmux"});
  const Target target("holds");
  Terminal terminal(80, 24);
  terminal.command(target.top());
  terminal.until("by committed;");
  terminal.press("c");
  CHECK(ascending(classes_of(terminal.until("by class;"))));
  terminal.press("r");
  CHECK(descending(classes_of(terminal.until("by class, reversed;"))));
  terminal.press("t");
  // The class of which the threads hold most.
  CHECK(classes_of(terminal.until("by threads;")).front() == 64);
  terminal.press("c");
  terminal.until("by class;");
  terminal.resize(80, 13);  // room for three rows
  const std::string small = terminal.until("; 6 more");
  INFO(small);
  CHECK(classes_of(small).front() == 32);
  terminal.press("Down");
  CHECK(classes_of(terminal.until("; 5 more")).front() == 64);
  terminal.press("NPage");
  const std::string end = terminal.until([](const std::string& text) {
    return text.find("by class; h help, q quits\n") != std::string::npos;
  });
  INFO(end);
  CHECK(classes_of(end).back() == 114688);
}

TEST_CASE("h and ? explain the keys, and any key goes back") {
  skip_without({"tmux"});
  const Target target("holds");
  Terminal terminal(80, 24);
  terminal.command(target.top());
  terminal.until("by committed;");
  for (const std::string key : {"h", "?"}) {
    terminal.press(key);
    const std::string help = terminal.until("any key goes back");
    INFO(help);
    for (const std::string part : {"\n  m  committed ", "\n  k  slack ", "\n  r  reverses",
                                   "Space reads at once", "q quits"}) {
      CHECK(help.find(part) != std::string::npos);
    }
    terminal.press("k");  // does not sort here
    terminal.until("by committed;");
  }
}

TEST_CASE("o shows objects by type, those first that grow most, and goes back") {
  skip_without({"tmux"});
  Running program({program_path("holds_known_types"), "grows"}, preloaded());
  const std::string pid = program.line("ready ");
  Terminal terminal(80, 24);
  terminal.command(build_path("pktmalloc") + " top --delay 0.2 " + pid);
  terminal.until("by committed;");
  terminal.press("o");
  const std::string first = terminal.until("objects by type;");
  INFO(first);
  CHECK(first.rfind("holds_known_types-plain, process " + pid + ": 3,", 0) == 0);
  CHECK(has(first, "\n     1100     1.6M         =         =    1536  Packet\n"));
  program.send(SIGUSR1);
  program.line("grown");
  const std::string grown =
      terminal.until("     2100     3.1M     +1000     +1.5M    1536  Packet");
  INFO(grown);
  const std::vector<std::string> told = lines(grown);
  REQUIRE(told.size() == 24);
  CHECK(has(told[4], "objects    bytes  grown by     bytes    size  type"));
  CHECK(has(told[5], "  Packet"));
  for (const std::string& line : told) CHECK(characters(line) <= 80);
  terminal.press("NPage");
  terminal.until([](const std::string& text) { return !has(text, " more\n"); });
  terminal.press("o");
  terminal.until("by committed;");
  terminal.press("o");
  terminal.until("objects by type;");
  program.end();
  CHECK(has(terminal.until("has ended"), "  Packet"));
  terminal.press("Escape");
  terminal.until("by committed;");
  terminal.press("o");
  terminal.until("there is no process " + pid);
}

TEST_CASE("objects by type are those of the program that a process has become") {
  skip_without({"tmux"});
  Running program(
      {"sh", "-c", "trap 'exec \"$1\" wait' USR1; echo ready $$; while :; do sleep 0.1; done", "sh",
       program_path("holds_known_types")},
      preloaded());
  const std::string pid = program.line("ready ");
  Terminal terminal(80, 50);  // with room for all types, wherever growth puts them
  terminal.command(build_path("pktmalloc") + " top --delay 0.2 " + pid);
  terminal.until("by committed;");
  terminal.press("o");
  const std::string before = terminal.until("objects by type;");
  CHECK(!has(before, "  Packet\n"));
  program.send(SIGUSR1);
  // It may have been seen for the first time amid its start.
  terminal.until([](const std::string& text) {
    return has(text, "\n     1100     1.6M ") && has(text, "    1536  Packet\n");
  });
}

TEST_CASE("a narrow terminal has fewer columns, whole ones; a wide one has bars and more") {
  skip_without({"tmux"});
  const Target target("holds");
  Terminal terminal(45, 24);
  terminal.command(target.top());
  const std::string narrow = terminal.until("by committed;");
  INFO(narrow);
  CHECK(narrow.find("\n  class   live allocs/s committed  slack\n") != std::string::npos);
  CHECK(narrow.find("\nallocated  ") != std::string::npos);
  CHECK(narrow.find(" in live objects\n") != std::string::npos);
  terminal.press("d");  // the column sorted by is there
  CHECK(terminal.until("by depot;").find("  class   live allocs/s  depot committed\n") !=
        std::string::npos);
  terminal.press("m");
  terminal.resize(160, 24);
  const std::string wide = terminal.until("committed until now");
  INFO(wide);
  CHECK(wide.find(" purged   bytes  used %  trips/s  live, cached and free memory ") !=
        std::string::npos);
  for (const std::string& line : lines(wide)) {
    if (line.rfind(" 114688 ", 0) != 0) continue;
    CHECK(line.find("\u2588") != std::string::npos);
    CHECK(line.find("\u2593") != std::string::npos);
  }
}

TEST_CASE("top has colours where they are wanted, and letters where there are no blocks") {
  skip_without({"tmux"});
  const Target target("holds");
  const auto look = [&](const std::string& before) {
    Terminal terminal(80, 24);
    terminal.command(before + " " + target.top());
    terminal.until("by committed;");
    return terminal.screen_with_colours();
  };
  CHECK(look("LC_ALL=C.UTF-8 TERM=xterm-256color").find("\033[32m\u2588") != std::string::npos);
  CHECK(look("NO_COLOR=1").find("\033[32m") == std::string::npos);
  const std::string letters = look("LC_ALL=C NO_COLOR=1");
  INFO(letters);
  CHECK(letters.find("\nmemory     #") != std::string::npos);
}

TEST_CASE("top follows the size of its terminal") {
  skip_without({"tmux"});
  const Target target("holds");
  Terminal terminal(80, 24);
  terminal.command(target.top() + "; echo status=$?");
  terminal.until("by committed;");
  const auto bottom_at = [](size_t row) {
    return [row](const std::string& text) {
      const std::vector<std::string> lines = ::lines(text);
      return lines.size() == row && lines.back().rfind("by committed;", 0) == 0;
    };
  };
  terminal.resize(120, 40);
  CHECK(bottom_at(40)(terminal.until(bottom_at(40))));
  terminal.resize(30, 11);
  CHECK(bottom_at(11)(terminal.until(bottom_at(11))));
  terminal.resize(10, 2);
  terminal.until([](const std::string& text) { return lines(text).size() == 2; });
  terminal.resize(80, 24);
  CHECK(bottom_at(24)(terminal.until(bottom_at(24))));
  terminal.press("q");
  CHECK(terminal.until("\nstatus=").find("\nstatus=0") != std::string::npos);
}

TEST_CASE("a process that ends is reported in the view, with its last values") {
  skip_without({"tmux"});
  Target target("holds");
  Terminal terminal(80, 24);
  terminal.command(target.top() + "; echo status=$?");
  terminal.until("by committed;");
  target.program.end();
  const std::string screen = terminal.until("has ended");
  INFO(screen);
  CHECK(screen.find("process " + target.pid + " has ended; these are its last values") !=
        std::string::npos);
  CHECK(screen.find("\n   5120 ") != std::string::npos);
  terminal.press("c");
  CHECK(terminal.until("by class;").find("has ended") != std::string::npos);
  terminal.press("q");
  CHECK(terminal.until("\nstatus=").find("\nstatus=0") != std::string::npos);
}

TEST_CASE("a process that becomes another program is followed") {
  skip_without({"tmux"});
  TemporaryFolder folder;
  // A shell, then on a key press, under the same process id, the program.
  REQUIRE(Program({"mkfifo", folder / "go"}).run().clean());
  const std::string script = "echo ready $$; read line <" + (folder / "go") + "; exec " +
                             program_path("is_read_from_outside") + " holds " +
                             (folder / "inside.json");
  Running program({"bash", "-c", script}, preloaded());
  const std::string pid = program.line("ready ");
  Terminal terminal(80, 24);
  terminal.command(build_path("pktmalloc") + " top --delay 0.2 " + pid);
  CHECK(terminal.until("by committed;").rfind("bash, process " + pid, 0) == 0);
  REQUIRE(Program({"sh", "-c", "echo go >" + (folder / "go")}).run().clean());
  const std::string now = "is_read_from_outside-pla, process " + pid;
  CHECK(terminal.until(now).rfind(now, 0) == 0);
}

TEST_CASE("without a process id the user chooses one") {
  skip_without({"tmux"});
  const Target target("holds");
  const Target other("holds");
  Terminal terminal(80, 24);
  terminal.command("echo before");
  terminal.command(build_path("pktmalloc") + " top --delay 0.2; echo status=$?");
  terminal.until("Enter shows the process");
  const auto chosen = [&](const std::string& text) {
    const std::string mark = "\n>";
    const size_t at = text.find(mark);
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at + 1) - at);
  };
  terminal.press("Home");
  for (int i = 0; i < 200; ++i) {
    const std::string row = chosen(terminal.screen());
    if (row.find(" " + target.pid + " ") != std::string::npos) break;
    terminal.press("Down");
    terminal.until([&](const std::string& text) { return chosen(text) != row; });
  }
  terminal.press("Enter");
  const std::string screen = terminal.until("by committed;");
  INFO(screen);
  CHECK(screen.rfind("is_read_from_outside-pla, process " + target.pid, 0) == 0);
  terminal.press("Escape");
  CHECK(terminal.until("Enter shows the process").find(other.pid) != std::string::npos);
  terminal.press("q");
  CHECK(terminal.until("\nstatus=").find("\nstatus=0") != std::string::npos);
  check_restored(terminal);
}

TEST_CASE("the terminal is restored when a signal ends top") {
  skip_without({"tmux"});
  const Target target("holds");
  for (const auto& [signal, status] : {std::pair{"INT", "130"}, {"TERM", "143"}, {"HUP", "129"}}) {
    Terminal terminal(80, 24);
    terminal.command("echo before");
    // The pid of top is that of the shell that became it.
    terminal.command("sh -c 'echo $$ >" + (target.folder / "pid") + "; exec " + target.top() + "'");
    terminal.until("by committed;");
    Program(
        {"sh", "-c", "kill -" + std::string(signal) + " $(cat " + (target.folder / "pid") + ")"})
        .run();
    terminal.until(
        [](const std::string& text) { return text.find("by committed;") == std::string::npos; });
    terminal.command("echo status=$?");
    const std::string screen = terminal.until("\nstatus=");
    INFO(signal << "\n" << screen);
    CHECK(screen.find(std::string("\nstatus=") + status) != std::string::npos);
    check_restored(terminal);
  }
}

TEST_CASE("without a terminal top prints readings and ends") {
  const Target target("works");
  const auto titles = [](const std::string& text) {
    size_t count = 0;
    for (const std::string& line : lines(text)) count += line.find(", process ") < 25 ? 1 : 0;
    return count;
  };
  for (const std::string option : {"--once", "--sort=c", "--batch=3"}) {
    const Outcome outcome =
        Program({build_path("pktmalloc"), "top", "--delay=0.2", option, target.pid}).run();
    INFO(option << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK(titles(outcome.out) == (option == "--batch=3" ? 3 : 1));
    for (const std::string& line : lines(outcome.out)) CHECK(line.size() <= 80);
    const size_t rates = outcome.out.find("/s: too_large 3");
    CHECK((rates != std::string::npos) == (option == "--batch=3"));
  }
  const Outcome all = Program({build_path("pktmalloc"), "top", "--once"}).run();
  INFO(all);
  CHECK(all.status == 0);
  CHECK(all.out.find(" " + target.pid + " ") != std::string::npos);
}

TEST_CASE("a process that ends ends a batch, which is no error") {
  Target target("holds");
  const std::string watch = build_path("pktmalloc") + " top --batch 1000000 --delay 0.1 ";
  const Outcome outcome =
      Program({"bash", "-c",
               watch + target.pid + " | while read line; do case $line in *class*) kill -9 " +
                   target.pid + " 2>/dev/null;; esac; echo \"$line\"; done; echo ${PIPESTATUS[0]}"})
          .run();
  INFO(outcome);
  CHECK_FALSE(outcome.timed_out);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find("process " + target.pid + " has ended; these are its last values\n0\n") !=
        std::string::npos);
}

TEST_CASE("what top cannot do is told in one line") {
  const Target target("holds");
  TemporaryFolder folder;
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& text) {
    std::vector<std::string> argv = {build_path("pktmalloc"), "top"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    check_refused(Program(argv).run(), text);
  };
  refused({"99999999"}, "there is no process 99999999");
  refused({"redis"}, "redis is not a process id");
  refused({"--sort", "x", target.pid}, "--sort x");
  refused({"--delay", "abc", target.pid}, "--delay: abc is not a number from 0.1 to 3600");
  refused({"--delay", "nan", target.pid}, "--delay: nan is not a number from 0.1 to 3600");
  skip_without({"tmux"});
  for (const auto& [name, fault] : {std::pair<std::string, std::string>{"nothing", "is not known"},
                                    {"dumb", "cannot move its cursor"}}) {
    Terminal terminal(100, 24);
    terminal.command("TERM=" + name + " " + target.top() + "; echo status=$?");
    const std::string screen = terminal.until("\nstatus=");
    INFO(screen);
    CHECK(screen.find("pktmalloc: the terminal \"" + name + "\" " + fault) != std::string::npos);
    CHECK(screen.find("status=2") != std::string::npos);
  }
}

// SPDX-License-Identifier: MIT
// The heap profile: what it says of programs that do what is known, and that every reader reads the
// same.
#include <catch2/catch.hpp>

#include <signal.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/browser.h"
#include "tests/heap_profile.h"
#include "tests/refused.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

const Bytes kLeaks = {{"leak_by_malloc", 100 * 100},     {"leak_by_calloc", 20 * 770},
                      {"leak_by_realloc", 5 * 5000},     {"leak_grown_in_place", 30 * 96},
                      {"leak_aligned", 777 + 8192 + 33}, {"leak_large", 3000000}};

std::vector<std::string> names(const Bytes& bytes) {
  std::vector<std::string> all;
  for (const auto& [name, unused] : bytes) all.push_back(name);
  return all;
}

// "5: 25000 [5: 25000] @ 0x1 0x2"
bool is_stack(const std::string& line) {
  static const std::regex kStack(R"(\d+: \d+ \[\d+: \d+\] @( 0x[0-9a-f]+)+)");
  return std::regex_match(line, kStack);
}

}  // namespace

TEST_CASE("at a rate of 1 what is live is known to the byte, and by which function") {
  for (const std::string way : {"plain", "shared", "static"}) {
    TemporaryFolder folder;
    Program program = profiled({program_path("leaks_known_objects", way)}, folder / "heap");
    if (way != "plain") {
      program = Program({program_path("leaks_known_objects", way)})
                    .with("PKTMALLOC_PROFILE", folder / "heap")
                    .with("PKTMALLOC_PROFILE_RATE", "1");
    }
    const Outcome outcome = program.run();
    INFO(way << ": " << outcome);
    CHECK(outcome.clean());
    CHECK(bytes_of(folder / "heap", names(kLeaks)) == kLeaks);
    const Bytes all = bytes_of(folder / "heap", {"leak_by_malloc", "leak_nothing"}, "--total");
    CHECK(all.at("leak_by_malloc") == 100 * 100);
    CHECK(all.at("leak_nothing") == 10000 * (200 + 900) + 500 * 60);
  }
}

TEST_CASE("the command names functions of C as they are, and refuses a file that was cut off") {
  TemporaryFolder folder;
  REQUIRE(profiled({program_path("leaks_known_objects")}, folder / "heap").run().clean());
  const auto collapsed = [&](const std::string& file) {
    return Program({build_path("pktmalloc"), "profile", "--cumulative", "--collapsed", file})
        .in(folder.path())
        .run();
  };
  CHECK(collapsed("heap").out.find(";f 3") != std::string::npos);
  const std::string whole = folder.read("heap");
  for (const size_t bytes : {whole.size() - 2, whole.size() - 100, whole.size() / 2}) {
    folder.write("cut", whole.substr(0, bytes));
    check_refused(collapsed("cut"), "cut is cut off");
  }
}

TEST_CASE("frame pointers find the same bytes") {
  TemporaryFolder folder;
  const Outcome outcome = profiled({program_path("leaks_known_objects")}, folder / "heap")
                              .with("PKTMALLOC_PROFILE_STACKS", "frame_pointers")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  CHECK(bytes_of(folder / "heap", names(kLeaks)) == kLeaks);
}

TEST_CASE("frame pointers find who called the functions that allocate, each of them") {
  TemporaryFolder folder;
  REQUIRE(profiled({program_path("leaks_by_each_function")}, folder / "heap")
              .with("PKTMALLOC_PROFILE_STACKS", "frame_pointers")
              .run()
              .clean());
  const std::string stacks = command({"--cumulative", "--collapsed", folder / "heap"}).out;
  INFO(stacks);
  for (const std::string size : {"", "large_"}) {
    for (const std::string function : {"malloc", "calloc", "aligned_alloc", "realloc"}) {
      CHECK(stacks.find(";main;by_" + size + function + " ") != std::string::npos);
    }
  }
  CHECK(stacks.find(";main;by_shrinking_realloc ") != std::string::npos);
}

TEST_CASE("what a walk by frame pointers finds may be anything") {
  TemporaryFolder folder;
  for (const std::string threads : {"0", "1"}) {
    CHECK(profiled({program_path("calls_without_frame_pointers")}, folder / "heap")
              .with("PKTMALLOC_PROFILE_STACKS", "frame_pointers")
              .with("PKTMALLOC_PROFILE_THREADS", threads)
              .run()
              .clean());
    CHECK(command({folder / "heap"}).status == 0);
  }
}

TEST_CASE("leaks are told to the byte on stderr at exit, if no rate is given") {
  const Outcome outcome =
      Program({build_path("pktmalloc"), "run", "--leaks", program_path("leaks_known_objects")})
          .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("pktmalloc: still allocated at exit: 2.9 MiB in 159 objects, in 8 places\n"
                         "  2.9 MiB in 1 object, allocated by\n") == 0);
}

TEST_CASE("leaks that are estimated are told as estimates, with what may be missing") {
  TemporaryFolder folder;
  const auto estimated = [&](const std::string& rate) {
    const Outcome outcome = profiled({program_path("leaks_known_objects")}, folder / "heap", rate)
                                .with("PKTMALLOC_PROFILE_LEAKS", "1")
                                .run();
    INFO(rate << ": " << outcome);
    CHECK(outcome.status == 0);
    return outcome.err;
  };
  const std::regex some(
      R"(pktmalloc: still allocated at exit: about \S+ MiB \+- \S+ (Ki)?B in \d+ objects?)"
      R"( \(\d+ samples?\), in \d places?\n  estimated from one sample per 64.0 KiB; )"
      R"(\+- is one standard error\n  a place that holds less than 192.0 KiB may be missing(.|\n)*)");
  CHECK(std::regex_match(estimated("64KiB"), some));
  const std::string none = estimated("1024GiB");
  CHECK(none.find("exit: about 0 B in 0 objects (0 samples), in 0 places\n  estimated") !=
        std::string::npos);
  for (const std::string option : {"--live", "--leaks"}) {
    const Outcome outcome = command({option, folder / "heap"});
    INFO(outcome);
    CHECK(outcome.out.find("a place that holds less than 3.0 TiB may be missing\n") !=
          std::string::npos);
  }
}

TEST_CASE("estimates lie as near to the truth as their number of samples allows") {
  TemporaryFolder folder;
  for (const std::string kib : {"32", "512"}) {
    const Outcome outcome =
        profiled({program_path("allocates_known_bytes"), "tell"}, folder / "heap", kib + "KiB")
            .run();
    INFO(outcome);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err.empty());
    struct Truth {
      double bytes, count, live;
    };
    std::map<std::string, Truth> truths;
    std::vector<std::string> functions;
    std::istringstream lines(outcome.out);
    std::string name;
    for (Truth t; lines >> name >> t.bytes >> t.count >> t.live;) {
      truths[name] = t;
      functions.push_back(name);
    }
    REQUIRE(truths.size() == 12);
    const Bytes live = bytes_of(folder / "heap", functions);
    const Bytes all = bytes_of(folder / "heap", functions, "--total");
    for (const auto& [function, truth] : truths) {
      // Six standard errors: exceeded twice in a thousand million runs. The chance that an object
      // is sampled is that of its class, which is larger, so this is the wider bound.
      const double p = 1 - std::exp(-truth.bytes / (std::stod(kib) * 1024));
      const auto near = [&, t = truth](double estimate, double count) {
        const double error = t.bytes * std::sqrt(count * (1 - p)) / std::sqrt(p) + 1;
        INFO(function << " at " << kib << " KiB: " << estimate << " of " << t.bytes * count
                      << " +- " << error);
        // Where few samples are expected the distribution is no normal one.
        if (count * p < 50) return;
        CHECK(std::abs(estimate - t.bytes * count) < 6 * error);
      };
      near(live.count(function) != 0 ? live.at(function) : 0, truth.live);
      if (truth.count > 0) near(all.count(function) != 0 ? all.at(function) : 0, truth.count);
    }
  }
}

TEST_CASE("the file is what pprof reads, with the mappings and build ids of its addresses") {
  TemporaryFolder folder;
  const Outcome outcome =
      profiled({program_path("leaks_known_objects")}, folder / "%e.%p.%n.heap").run();
  INFO(outcome);
  CHECK(outcome.clean());
  REQUIRE(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  const std::string name = std::filesystem::directory_iterator(folder.path())->path().filename();
  CHECK(std::regex_match(name, std::regex(R"(leaks_known_objects-plain\.\d+\.00001\.heap)")));
  std::istringstream file(folder.read(name));
  std::string line;
  std::getline(file, line);
  CHECK(std::regex_match(line, std::regex(R"(heap profile: 159: \d+ \[\d+: \d+\] @ heapprofile)")));
  unsigned stacks = 0, mappings = 0, ids = 0;
  bool in_mappings = false;
  while (std::getline(file, line)) {
    INFO(line);
    if (line == "MAPPED_LIBRARIES:") {
      in_mappings = true;
    } else if (line.rfind("# build-id ", 0) == 0) {
      ++ids;
    } else if (!line.empty() && line[0] != '#') {
      if (!in_mappings) CHECK(is_stack(line));
      if (in_mappings) CHECK(line.find(" r-xp ") + line.find(" --xp ") != std::string::npos);
      ++(in_mappings ? mappings : stacks);
    }
  }
  CHECK(stacks >= 7);
  CHECK(mappings >= 4);
  CHECK(ids >= 3);
}

TEST_CASE("a library that was named from the program's folder is listed by its whole path") {
  TemporaryFolder folder;
  std::filesystem::copy_file(library_path(), folder / "own.so");
  const Outcome outcome = Program({program_path("leaks_known_objects")})
                              .in(folder.path())
                              .with("LD_PRELOAD", "./own.so")
                              .with("PKTMALLOC_PROFILE", "a.heap")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  CHECK(folder.read("a.heap").find(" " + (folder / "./own.so")) != std::string::npos);
}

TEST_CASE("google-pprof and pprof read the same numbers") {
  TemporaryFolder folder;
  const std::string program = program_path("leaks_known_objects");
  CHECK(profiled({program}, folder / "heap").run().clean());
  const std::vector<std::vector<std::string>> readers = {
      {"google-pprof", "--text", "--show_bytes", program, folder / "heap"},
      {"pprof", "-top", "-unit=B", "-nodecount=100", "-nodefraction=0", folder / "heap"}};
  for (const auto& reader : readers) {
    if (!at_hand(reader[0])) continue;
    const Outcome outcome = Program(reader).with("HOME", folder.path()).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    for (const auto& [function, bytes] : kLeaks) {
      std::ostringstream line;
      line << R"((^|\n) *)" << static_cast<long>(bytes) << R"(B? .* )" << function << R"((\n|$))";
      INFO(line.str());
      CHECK(std::regex_search(outcome.out, std::regex(line.str())));
    }
  }
}

TEST_CASE("profiles are written by interval and by order, without statistics too") {
  TemporaryFolder folder;
  const std::string until = "until [ -e $$.00001.heap ]; do sleep 0.02; done; ";
  const std::string order = "LD_PRELOAD= " + build_path("pktmalloc") + " tell $$ profile > told; ";
  for (const auto& [option, value, first] :
       {std::tuple("PKTMALLOC_STATS_INTERVAL", "100ms", std::string()),
        std::tuple("PKTMALLOC_CONTROL", "1", order)}) {
    const Outcome outcome =
        profiled({"bash", "-c", first + until + "echo $$"}, "%p.%n.heap", "64KiB")
            .in(folder.path())
            .with(option, value)
            .run();
    INFO(option << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    const std::string pid = outcome.out.substr(0, outcome.out.find('\n'));
    for (const std::string number : {"00001", "00002"}) {
      CHECK(command({folder / (pid + "." + number + ".heap")}).status == 0);
    }
  }
}

TEST_CASE("functions have the names of their source: C++, Rust, LLVM's own, and inlined ones") {
  TemporaryFolder folder;
  folder.write("a.cpp", R"(
    #include <new>
    #include <stdlib.h>
    void* volatile last;
    struct Order { char bytes[100]; };
    namespace shop {
    __attribute__((noinline)) void older() asm("_ZN4shop5older17h0123456789abcdefE");
    __attribute__((noinline)) void newer() asm("_RNvCsbmNqQUJIY6D_4shop5newer");
    __attribute__((noinline)) void alike() asm("_ZN4shop5alikeEv.llvm.15462468512467459867");
    inline void small() { last = malloc(10); }
    inline void large() { last = malloc(1000); }
    void older() { last = malloc(1); last = nullptr; }
    void newer() { last = malloc(1); last = nullptr; }
    void alike() { last = malloc(1); last = nullptr; }
    __attribute__((noinline)) void order(Order*) { small(); large(); last = new int; }
    }
    int main() { shop::older(); shop::newer(); shop::alike(); shop::order(nullptr); })");
  REQUIRE(Program({"g++", "-O2", "-g", folder / "a.cpp", "-o", folder / "a"}).run().clean());
  const Outcome leaks =
      Program({build_path("pktmalloc"), "run", "--leaks", "--profile=heap", folder / "a"})
          .in(folder.path())
          .run();
  INFO(leaks);
  CHECK(leaks.err.find("    shop::order(Order*) of a\n") != std::string::npos);
  CHECK(leaks.err.find("  c++filt reads names that begin with _Z or _R\n") != std::string::npos);
  const auto stacks = [&](const std::string& option) {
    const Outcome outcome =
        Program({build_path("pktmalloc"), "profile", "--collapsed", option, folder / "heap"}).run();
    INFO(outcome);
    CHECK(outcome.err.empty());
    return outcome.out;
  };
  for (const std::string option : {"--lines", "--no-lines"}) {
    const std::string all = stacks(option);
    INFO(all);
    for (const std::string name : {"shop::older 1", "shop::newer 1", "shop::alike() 1"}) {
      CHECK(all.find(";main;" + name + "\n") != std::string::npos);
    }
    CHECK((all.find(";shop::order(Order*) 1014\n") != std::string::npos) ==
          (option == "--no-lines"));
  }
  CHECK(stacks("--live").find(";shop::order(Order*);shop::large() 1000\n") != std::string::npos);
}

TEST_CASE("of the standard library only what the program called; cut stacks are under one root") {
  TemporaryFolder folder;
  folder.write("a.cpp", R"(
    #include <memory>
    #include <vector>
    struct Packet { char bytes[1000]; };
    auto& all = *new std::vector<std::shared_ptr<Packet>>;
    __attribute__((noinline)) void deep(int n) {
      if (n == 0) all.push_back(std::make_shared<Packet>()); else deep(n - 1);
      asm volatile("" ::: "memory");
    }
    int main() { all.reserve(100); for (int i = 0; i < 60; ++i) deep(i); })");
  REQUIRE(Program({"g++", "-O0", folder / "a.cpp", "-o", folder / "a"}).run().clean());
  REQUIRE(Program({folder / "a"})
              .preloaded()
              .with("PKTMALLOC_PROFILE", folder / "heap")
              .with("PKTMALLOC_PROFILE_RATE", "1")
              .with("PKTMALLOC_PROFILE_DEPTH", "32")
              .run()
              .clean());
  const auto profile = [&](const std::string& option) {
    const Outcome outcome =
        Program({build_path("pktmalloc"), "profile", option, folder / "heap"}).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    return outcome.out;
  };
  const std::string stacks = profile("--collapsed");
  INFO(stacks);
  CHECK(stacks.find(" std::make_shared<Packet>() ") != std::string::npos);
  CHECK(stacks.find("::allocate(") == std::string::npos);
  CHECK(stacks.find("[deeper than is recorded];deep(int);deep(int);") != std::string::npos);
  for (size_t at = 0, end; (end = stacks.find('\n', at)) != std::string::npos; at = end + 1) {
    const bool is_whole = stacks.compare(at, 7, "_start;") == 0;
    CHECK((is_whole || stacks.compare(at, 10, "[deeper th") == 0));
  }
  const Outcome unfolded =
      Program({build_path("pktmalloc"), "profile", "--unfolded", "--frames", "40", folder / "heap"})
          .run();
  CHECK(unfolded.out.find("::allocate(") != std::string::npos);
}

TEST_CASE("what grew between two profiles comes first, what shrank last") {
  TemporaryFolder folder;
  const std::string program = program_path("leaks_known_objects");
  CHECK(profiled({program}, folder / "one").run().clean());
  // As if less had been leaked before: another process, so all addresses are others.
  std::string text = folder.read("one");
  const size_t large = text.find("1: 3000000 [");
  REQUIRE(large != std::string::npos);
  text.replace(large, 11, "1: 1000000 ");
  folder.write("before", text);
  CHECK(profiled({program}, folder / "two").run().clean());
  const Outcome outcome = command({folder / "before", folder / "two"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.out.find("+1.9 MiB") != std::string::npos);
  CHECK(outcome.out.find("leak_large") != std::string::npos);
  CHECK(outcome.out.find("leak_by_malloc") == std::string::npos);
}

TEST_CASE("a flame graph is a page of its own that holds every function") {
  TemporaryFolder folder;
  CHECK(profiled({program_path("leaks_known_objects")}, folder / "heap").run().clean());
  const Outcome outcome = command({"--html", folder / "page.html", folder / "heap"});
  INFO(outcome);
  CHECK(outcome.clean());
  const std::string page = folder.read("page.html");
  CHECK(page.find("http") == std::string::npos);
  for (const auto& [function, bytes] : kLeaks) CHECK(page.find(function) != std::string::npos);
}

TEST_CASE("threads are told apart where that is asked for, also of a process that was killed") {
  TemporaryFolder folder;
  for (const bool killed : {false, true}) {
    std::vector<std::string> words = {build_path("pktmalloc"),
                                      "run",
                                      "--profile",
                                      folder / "heap",
                                      "--rate=1",
                                      "--threads",
                                      program_path("named_threads_allocate"),
                                      "100"};
    if (killed) words.push_back("kill");
    const Outcome outcome = Program(words).run();
    INFO(outcome);
    CHECK((killed ? outcome.signal == SIGKILL : outcome.status == 0));
    // Names by the bytes of their threads.
    std::multimap<std::string, std::string> threads;
    std::istringstream stacks(command({"--threads", "--collapsed", folder / "heap"}).out);
    for (std::string line; std::getline(stacks, line);) {
      if (line.find(";make_objects ") == std::string::npos) continue;
      threads.emplace(line.substr(0, line.find(", thread ")), line.substr(line.rfind(' ') + 1));
    }
    CHECK(threads == std::multimap<std::string, std::string>{
                         {"reader", "100000"}, {"reader", "100000"}, {"writer", "200000"}});
    CHECK(bytes_of(folder / "heap", {"make_objects"}) == Bytes{{"make_objects", 400'000}});
    const Outcome text = command({"--threads", "--frames=1", "--top=1", folder / "heap"});
    CHECK(text.out.find("    make_objects (named_threads_allocate-plain)\n    writer, thread ") !=
          std::string::npos);
    CHECK(command({"--top=1", folder / "heap"}).out.find(", thread ") == std::string::npos);
  }
}

TEST_CASE("a page of several profiles has a slider of time, and threads by themselves") {
  TemporaryFolder folder;
  std::vector<std::string> words = {"--html", folder / "time.html"};
  for (const std::string objects : {"1", "30", "20"}) {
    words.push_back(folder / objects);
    CHECK(profiled({program_path("named_threads_allocate"), objects}, words.back())
              .with("PKTMALLOC_PROFILE_THREADS", "1")
              .run()
              .clean());
  }
  CHECK(command(words).clean());
  check_refused(command({folder / "1", folder / "30", folder / "20"}),
                "more than two profiles make a page: --html PAGE");
  if (!installed("chromium")) return leave_out("driving it, for chromium is not installed");
  folder.write("drive.html", R"html(<body><script>
function drive(frame) {
  const page = frame.contentDocument, results = [];
  const bars = () => [...page.querySelectorAll("#graph div")].map(bar => bar.textContent);
  const told = () => page.getElementById("told").textContent;
  const moment = page.getElementById("moment");
  results.push(moment.max, told());
  moment.value = 1;
  moment.dispatchEvent(new Event("input"));
  results.push(page.getElementById("about").textContent, told());
  results.push(bars().filter(bar => bar.startsWith("make_objects")).length);
  page.getElementById("threads").click();
  results.push(bars().filter(bar => bar.startsWith("make_objects")).length);
  results.push(bars().filter(bar => bar.startsWith("writer, thread ")).length);
  document.title = results.join("|");
}
</script><iframe src="time.html" width=900 height=800 onload="drive(this)"></iframe>)html");
  const Outcome outcome = browsed(folder, "drive.html");
  const std::string title = outcome.out.substr(0, outcome.out.find("</title>"));
  INFO(title);
  CHECK(title.find("<title>2|all 79.0 KiB") != std::string::npos);
  CHECK(title.find("|30, ") != std::string::npos);
  CHECK(title.find("|all 118.0 KiB") != std::string::npos);
  CHECK(title.find("|1|3|1") != std::string::npos);
}

TEST_CASE("a file that is no whole profile is told in one line") {
  TemporaryFolder folder;
  CHECK(profiled({program_path("leaks_known_objects")}, folder / "heap").run().clean());
  const std::string whole = folder.read("heap");
  const std::pair<std::string, std::string> wrong[] = {
      {"", "is not a heap profile"},
      {"hello\n", "is not a heap profile"},
      {whole.substr(0, whole.size() / 4), "is "},
      {whole.substr(0, whole.find('\n') + 1) + "12: nonsense\n", "line 2 is no stack"}};
  for (const auto& [text, told] : wrong) {
    folder.write("wrong", text);
    const Outcome outcome = command({folder / "wrong"});
    INFO(outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("pktmalloc: " + folder / "wrong") == 0);
    CHECK(outcome.err.find(told) != std::string::npos);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
  CHECK(command({folder / "none"}).status == 2);
}

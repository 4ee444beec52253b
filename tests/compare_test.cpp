// SPDX-License-Identifier: MIT
// pktmalloc compare: how it runs the user's command.
#include <catch2/catch.hpp>

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/command_page.h"
#include "tests/compare.h"
#include "tests/skip.h"

TEST_CASE("every allocator runs once in a round, in any order; glibc once more before the first") {
  Workplace place;
  const Outcome outcome = place.run({"-n", "40"}, "echo \"$LD_PRELOAD\" >> $1/log");
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  const std::vector<std::string> log = lines(place.read("log"));
  REQUIRE(log.size() == 81);
  CHECK(log[0].empty());
  int glibc_first = 0;
  for (size_t round = 0; round < 40; ++round) {
    const std::string& one = log[1 + 2 * round];
    const std::string& other = log[2 + 2 * round];
    CHECK((one.empty() ? other : one) == place.mine());
    CHECK((one.empty() || other.empty()));
    glibc_first += one.empty();
  }
  CHECK(glibc_first > 0);
  CHECK(glibc_first < 40);
}

TEST_CASE("without --with it runs under what is installed, and pktmalloc") {
  TemporaryFolder folder;
  const Outcome outcome =
      Program({build_path("pktmalloc"), "compare", "-n", "1", "--json", "--", "sh", "-c",
               "echo \"$LD_PRELOAD\" >> $1/log", "sh", folder.path()})
          .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(contender(json, "glibc")["library"] == "");
  CHECK(contender(json, "pktmalloc")["library"] == library_path());
  for (const Json& each : json["allocators"]) {
    CHECK(has(folder.read("log"), each["library"].get<std::string>() + "\n"));
  }
  for (const std::string name : {"jemalloc", "mimalloc", "tcmalloc"}) {
    CHECK(has(contender(json, name)["library"], name));  // tools/deps/deps.mk has them
  }
}

TEST_CASE("with others pktmalloc is compared, too, unless one of its own is among them") {
  const Workplace place;
  place.write("other.c", "int other;\n");
  if (Program({"gcc", "-shared", place / "other.c", "-o", place / "other.so"}).run().status != 0) {
    skip("gcc is not installed");
  }
  const auto rows = [&](const std::string& with) {
    const Outcome outcome = Program({build_path("pktmalloc"), "compare", "-n", "1", "--json",
                                     "--with", with, "--", "true"})
                                .run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    std::string names;
    const Json json = Json::parse(outcome.out);
    for (const Json& each : json["allocators"]) names += each["name"].get<std::string>() + " ";
    return names;
  };
  CHECK(rows("other=" + place / "other.so") == "glibc other pktmalloc ");
  CHECK(rows("other=" + place / "other.so" + ",mine=" + place.mine()) == "glibc other mine ");
  CHECK(rows("pktmalloc-hardened") == "glibc pktmalloc-hardened ");
}

TEST_CASE("each run is prepared, and those that warm up do not count") {
  Workplace place;
  const Outcome outcome =
      place.run({"-n", "3", "--warmup", "2", "--json", "--prepare",
                 "test -z \"$LD_PRELOAD\" && echo prepared >> " + (place / "log")},
                "echo run $LD_PRELOAD >> $1/log");
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(contender(Json::parse(outcome.out), "mine")["time_ms"]["runs"].size() == 3);
  const std::vector<std::string> log = lines(place.read("log"));
  REQUIRE(log.size() == 2 * (1 + 2 * 5));
  for (size_t i = 0; i < log.size(); ++i) CHECK((log[i] == "prepared") == (i % 2 == 0));
  CHECK(std::count(log.begin(), log.end(), "run " + place.mine()) == 5);
  check_refused(place.run({"--prepare", "exit 3"}, "true"),
                "--prepare 'exit 3' fails (exit status 3)");
}

TEST_CASE("a server is started, waited for, put under load and stopped") {
  Workplace place;
  const std::string server = R"(
    echo "start $LD_PRELOAD" >> $1/log; trap 'echo stop >> $1/log; rm $1/up; exit 0' TERM
    sleep 0.1; echo > $1/up; while :; do sleep 0.01; done)";
  const std::string ready = "test -e " + (place / "up");
  const std::string load =
      "test -z \"$LD_PRELOAD\" && echo load >> " + (place / "log") + "; sleep 0.3";
  const Outcome outcome =
      place.run({"-n", "2", "--json", "--ready", ready, "--load", load}, server);
  INFO(outcome);
  CHECK(outcome.status == 0);
  const Json json = Json::parse(outcome.out);
  const Json mine = contender(json, "mine");
  CHECK(mine["time_ms"]["least"].get<double>() >= 300);
  CHECK(mine["peak_rss_bytes"]["least"].get<double>() > 0);
  CHECK(any_finding(json, "Time is that of the load"));
  const std::vector<std::string> log = lines(place.read("log"));
  REQUIRE(log.size() == 15);
  CHECK(log[0] == "start ");
  for (size_t i = 0; i < log.size(); i += 3) {
    CHECK(log[i].rfind("start ", 0) == 0);
    CHECK(log[i + 1] == "load");
    CHECK(log[i + 2] == "stop");
  }
  // By a command in place of the signal.
  const Outcome stopped = place.run(
      {"-n", "1", "--ready", "true", "--load", "true", "--stop", "echo > " + (place / "end")},
      "while [ ! -e $1/end ]; do sleep 0.01; done; rm $1/end; echo over >> $1/over");
  INFO(stopped);
  CHECK(stopped.status == 0);
  CHECK(lines(place.read("over")).size() == 3);
}

TEST_CASE("what goes wrong with a server is told") {
  Workplace place;
  const auto serve = [&](const std::string& load, const std::string& server) {
    return place.run({"-n", "1", "--ready", "true", "--load", load}, server);
  };
  check_refused(serve("exit 4", "exec sleep 1000"), "the load ends by exit status 4");
  check_refused(serve("sleep 1000", "sleep 0.2; exit 5"), "exit status 5 under load");
  check_refused(place.run({"--ready", "false", "--load", "true"}, "exit 6"),
                "exit status 6 before it was ready");
  check_refused(place.run({"--load", "true"}, "true"), "--load needs --ready");
  check_refused(place.run({"--ready", "1"}, "true"), "need --load");
  check_refused(place.run({"--ready", "99999", "--load", "true"}, "true"), "99999 is no port");
  const std::string up = place / "up";
  const Outcome crash =
      place.run({"-n", "1", "--json", "--ready", "test -e " + up, "--load", "true"},
                under_mine("kill -SEGV $$") +
                    "; trap 'rm $1/up; exit 0' TERM; echo > $1/up; while :; do sleep 0.01; done");
  INFO(crash);
  CHECK(crash.status == 1);
  CHECK(has(contender(Json::parse(crash.out), "mine")["failure"], "killed by SIGSEGV"));
}

TEST_CASE("what the command writes is discarded, or passed to stderr; it reads nothing") {
  Workplace place;
  const std::string script = "cat; echo to stdout; echo to stderr >&2";
  const Outcome silent = place.run({"-n", "1"}, script);
  CHECK(!has(silent.out, "to std"));
  CHECK(silent.err.empty());
  const Outcome shown = place.run({"-n", "1", "--show"}, script);
  INFO(shown);
  CHECK(!has(shown.out, "to std"));
  CHECK(has(shown.err, "to stdout\n"));
  CHECK(has(shown.err, "to stderr\n"));
}

TEST_CASE("the words of the command reach it as they are") {
  Workplace place;
  const Words words = {"sh",
                       "-c",
                       "for a; do echo \"<$a>\"; done > $0",
                       place / "words",
                       "[a,b]",
                       "--json",
                       "-n",
                       "",
                       "--",
                       "two words"};
  Words all = {build_path("pktmalloc"), "compare", "--with", "mine=" + place.mine(), "-n1"};
  all.insert(all.end(), words.begin(), words.end());
  CHECK(Program(all).run().status == 0);
  CHECK(place.read("words") == "<[a,b]>\n<--json>\n<-n>\n<>\n<-->\n<two words>\n");
}

TEST_CASE("several commands run in turn under one allocator, and are told by letters") {
  Workplace place;
  const auto script = [&](const std::string& name) {
    return Words{"sh", "-c", "echo " + name + " \"$LD_PRELOAD\" >> $1/log; echo same", "sh",
                 place.path()};
  };
  const auto both = [&](const Words& options) {
    Words words = script("old");
    words.push_back("--");
    for (const std::string& word : script("new")) words.push_back(word);
    return place.program(options, words).run();
  };
  const Outcome outcome = both({"-n", "20", "--json", "--export-csv", place / "csv"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  const std::vector<std::string> log = lines(place.read("log"));
  REQUIRE(log.size() == 42);
  CHECK(log[0] == "old ");  // as they are, once
  CHECK(log[1] == "new ");
  int old_first = 0;
  for (size_t i = 2; i < log.size(); i += 2) {
    const bool is_old = log[i] == "old " + place.mine();
    old_first += is_old;
    CHECK(log[i + (is_old ? 1 : 0)] == "new " + place.mine());
    CHECK(log[i + (is_old ? 0 : 1)] == "old " + place.mine());
  }
  CHECK(old_first > 0);
  CHECK(old_first < 20);
  const Json json = Json::parse(outcome.out);
  CHECK(json["allocators"].size() == 2);
  const Json fresh = contender(json, "b");
  CHECK(fresh["command"] == Json(script("new")));
  CHECK(fresh["library"] == place.mine());
  CHECK(fresh["time_ms"]["runs"].size() == 20);
  CHECK(fresh["time_ms"]["to_glibc"] ==
        fresh["time_ms"]["median"].get<double>() /
            contender(json, "a")["time_ms"]["median"].get<double>());
  CHECK(has(place.read("csv"), "\n\"sh -c 'echo new \"\"$LD_PRELOAD"));

  const Outcome table = both({"-n", "1", "--html", place / "page.html"});
  INFO(table);
  CHECK(has(table.out, "a, under mine=" + place.mine() + ": sh -c 'echo old"));
  CHECK(has(table.out, "\nb, under mine=" + place.mine() + ": sh -c 'echo new"));
  CHECK(has(table.out, " most      / a\n"));
  CHECK(!has(table.out, "stdout"));  // they write the same
  check_page(place / "page.html");
}

TEST_CASE("several commands that cannot be compared are refused before anything runs") {
  Workplace place;
  const Words ran = {"sh", "-c", "echo > $0", place / "ran"};
  const auto compare = [&](const Words& options, const Words& behind) {
    Words words = {build_path("pktmalloc"), "compare"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("--");
    words.insert(words.end(), ran.begin(), ran.end());
    words.insert(words.end(), behind.begin(), behind.end());
    return Program(words).run();
  };
  check_refused(compare({}, {"--"}), "a command is missing, such as: pktmalloc compare -- ./old");
  check_refused(compare({}, {"--", "--", "true"}), "a command is missing");
  check_refused(compare({}, {"--", "no-such-command"}), "no-such-command");
  check_refused(compare({"--with", "glibc,mine=" + place.mine()}, {"--", "true"}),
                "several commands run under one allocator; --with names 2");
  check_refused(compare({"--classes", "64"}, {"--", "true"}), "--classes takes one command");
  check_refused(compare({"--with", "a=" + place / "none.so"}, {"--", "true"}), place / "none.so");
  check_refused(compare({}, {"--", program_path("hello", "static")}), "holds libpktmalloc.a");
  CHECK(!std::filesystem::exists(place / "ran"));
  // What it brings along is its own matter where nothing is preloaded.
  const Outcome outcome =
      compare({"-n", "1", "--with", "glibc"}, {"--", program_path("known_calls", "static")});
  INFO(outcome);
  CHECK(outcome.status == 0);
}

TEST_CASE("what LD_PRELOAD names already stays behind the allocator") {
  Workplace place;
  const std::string other = "libm.so.6";
  const Outcome outcome =
      place.script({"-n", "1"}, "echo \"$LD_PRELOAD\" >> $1/log").with("LD_PRELOAD", other).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  const std::string log = place.read("log");
  CHECK(has(log, place.mine() + ":" + other + "\n"));
  CHECK(log.rfind(other + "\n", 0) == 0);
  CHECK(has(outcome.out, "LD_PRELOAD names also: " + other));
}

TEST_CASE("our own library in LD_PRELOAD is of no run but its own") {
  Workplace place;
  const Outcome outcome = place.script({"-n", "1"}, "echo \"$LD_PRELOAD\" >> $1/log")
                              .with("LD_PRELOAD", library_path() + " libm.so.6")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(place.read("log").rfind("libm.so.6\n", 0) == 0);
  CHECK(!has(place.read("log"), library_path()));
}

TEST_CASE("a command that brings an allocator along is not said to run under glibc") {
  Workplace place;
  place.write("a.c", "int main(void) { return 0; }\n");
  const Outcome built = Program({"sh", "-c",
                                 "gcc " + (place / "a.c") + " -o " + (place / "a") +
                                     " -Wl,--no-as-needed -l:libjemalloc.so.2"})
                            .run();
  if (built.status != 0) skip("libjemalloc2 is not installed");
  const Outcome outcome = place.program({"-n", "1"}, {place / "a"}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, "\n  linked jemalloc "));
  CHECK(has(outcome.out, "/ linked\n"));
  CHECK(!has(outcome.out, "glibc"));
}

TEST_CASE("a command under which no allocator can be put is refused") {
  Workplace place;
  check_refused(place.program({}, {program_path("hello", "static")}).run(), "holds libpktmalloc.a");
  place.write("a.c", "void* malloc(unsigned long n) { return 0; }\nint main(void) { return 0; }\n");
  const Outcome built =
      Program({"gcc", "-fno-builtin", "-w", "-rdynamic", place / "a.c", "-o", place / "a"}).run();
  REQUIRE(built.status == 0);
  check_refused(place.program({}, {place / "a"}).run(), "own malloc comes before");
}

TEST_CASE("an interruption prints what there is, and nothing goes on running") {
  Workplace place;
  // The sixth run, of the third round, interrupts; it would not end before the test's time is over.
  const Outcome outcome = place.run({"-n", "50", "--json", "--html", place / "page.html"}, R"(
    echo $$ >> $1/runs
    if [ $(wc -l < $1/runs) -eq 6 ]; then
      trap 'echo >> $1/asked' TERM
      kill -INT $PPID
      while :; do sleep 1; done
    fi)");
  INFO(outcome);
  CHECK(outcome.status == 130);
  CHECK(has(outcome.err, "interrupted"));
  CHECK(!place.read("asked").empty());
  const Json json = Json::parse(outcome.out);
  CHECK(json["interrupted"] == true);
  const size_t complete = contender(json, "glibc")["time_ms"]["runs"].size() +
                          contender(json, "mine")["time_ms"]["runs"].size();
  CHECK(complete == 4);  // the first was not counted, the last did not end
  check_page(place / "page.html");
  const std::vector<std::string> runs = lines(place.read("runs"));
  REQUIRE(runs.size() == 6);
  CHECK(kill(std::stoi(runs.back()), 0) != 0);
  CHECK(errno == ESRCH);
}

TEST_CASE("the end of a run is seen although who started the command had blocked its signal") {
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = Program({"env", "--block-signal=CHLD", build_path("pktmalloc"),
                                     "compare", "-n", "1", "--with", "glibc", "sleep", "0.05"})
                                .run();
    INFO(outcome);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("a descendant that keeps the output open is not waited for") {
  Workplace place;
  const Outcome outcome = place.run({"-n", "1"}, "sleep 1000 & echo $! >> $1/children; echo done");
  INFO(outcome);
  CHECK(outcome.status == 0);
  for (const std::string& child : lines(place.read("children"))) kill(std::stoi(child), SIGKILL);
}

TEST_CASE("bad input is refused in one line before anything runs") {
  Workplace place;
  place.write("text.so", "no library");
  place.write("script", "echo");
  const auto compare = [&](Words words) {
    words.insert(words.begin(), {build_path("pktmalloc"), "compare"});
    words.insert(words.end(), {"--", "sh", "-c", "echo > $0", place / "ran"});
    return Program(words).run();
  };
  check_refused(Program({build_path("pktmalloc"), "compare"}).run(), "command is missing");
  check_refused(place.program({}, {"no-such-command"}).run(), "no-such-command");
  check_refused(place.program({}, {place / "script"}).run(), place / "script");
  check_refused(compare({"--with", "nosuchmalloc"}), "nosuchmalloc");
  check_refused(compare({"--with", "a=" + place / "none.so"}), place / "none.so");
  check_refused(compare({"--with", "a=" + place / "text.so"}), place / "text.so");
  check_refused(compare({"--with", "a=" + place.mine() + ",a=" + place.mine()}), "twice");
  check_refused(compare({"-n", "0"}), "0");
  check_refused(compare({"-n", "many"}), "many");
  check_refused(compare({"--html", place / "no/page.html"}), place / "no/page.html");
  check_refused(compare({"--nonsense"}), "--nonsense");
  CHECK(!std::filesystem::exists(place / "ran"));
  // A library that the loader refuses: it would run under glibc and be told as itself.
  std::filesystem::copy_file("/proc/self/exe", place / "program");
  check_refused(compare({"--with", "a=" + place / "program"}), "cannot be preloaded");
  if (std::filesystem::exists("/sbin/ldconfig")) {
    check_refused(place.program({}, {"/sbin/ldconfig", "--version"}).run(), "statically");
  }
}

// SPDX-License-Identifier: MIT
// Options: what is not understood is told in one line and changes nothing else.
#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "preload/contract/pktmalloc.h"
#include "tests/program.h"
#include "tests/setuid.h"
#include "tests/temporary_folder.h"

namespace {

struct Option {
  std::string name, run, default_value, accepted;
};

const std::vector<Option> kOptions = {
#define OPTION(NAME, library, run, field, reads, default_value, accepted, help) \
  {"PKTMALLOC_" #NAME, #run, default_value, accepted},
#include "preload/formats/options.def"
};

const Option& option(const std::string& name) {
  return *std::find_if(kOptions.begin(), kOptions.end(),
                       [&](const Option& o) { return o.name == name; });
}

size_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

// The program itself is as it is without the library.
void check_untouched(const Outcome& outcome) {
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(outcome.out == "hello\n");
}

Outcome hello_with(const std::string& name, const std::string& value) {
  return Program({program_path("hello")}).preloaded().with(name, value).run();
}

}  // namespace

TEST_CASE("without options nothing is said") {
  const Outcome outcome = Program({program_path("hello")}).preloaded().run();
  check_untouched(outcome);
  CHECK(outcome.err.empty());
}

TEST_CASE("run --help tells the values that each variable accepts") {
  const std::string help = Program({build_path("pktmalloc"), "run", "--help"}).run().out;
  for (const Option& known : kOptions) {
    if (known.run != "Value") continue;
    INFO(known.name);
    CHECK(help.find(" (" + known.accepted + ")\n") != std::string::npos);
  }
}

TEST_CASE("an unknown option is told in one line that names all options") {
  for (const std::string name :
       {"PKTMALLOC_STAT", "PKTMALLOC_STATSX", "PKTMALLOC_", "PKTMALLOC_stats", "PKTMALLOC_AGES"}) {
    const Outcome outcome = hello_with(name, "1");
    INFO(name << ": " << outcome);
    check_untouched(outcome);
    CHECK(lines(outcome.err) == 1);
    CHECK(outcome.err.find("pktmalloc: unknown option " + name + " is ignored") == 0);
    for (const Option& known : kOptions) {
      CHECK(outcome.err.find(" " + known.name) != std::string::npos);
    }
  }
}

TEST_CASE("other variables are nobody's options") {
  for (const std::string name : {"PKTMALLOC", "PKTMALLOCX_AGE", "MY_PKTMALLOC_AGE"}) {
    const Outcome outcome = hello_with(name, "1");
    check_untouched(outcome);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("a malformed value is told in one line, and the default holds") {
  struct Row {
    std::string name;
    std::vector<std::string> values;
  };
  const Row rows[] = {
      {"PKTMALLOC_STATS", {""}},
      {"PKTMALLOC_STATS_INTERVAL", {"", "1", "99ms", "25h", "10", "1s,2s", "-1s"}},
      {"PKTMALLOC_CONTROL", {"", "2", "on", "always"}},
      {"PKTMALLOC_SIZES", {"", "1", "on"}},
      {"PKTMALLOC_RECORDING", {"", "1", "on"}},
      {"PKTMALLOC_TELL", {"", "-1", "me", "1 ", "2147483648"}},
      {"PKTMALLOC_LEAK_CHECK", {"", "-1", "me", "2147483648"}},
      {"PKTMALLOC_CHILDREN", {"", "2", "no"}},
      {"PKTMALLOC_CLASSES",
       {"", "0", "64,", ",64", "64,,128", "64;128", "x", "64x", "-1", "2MiB", "1048577", "1GiB",
        "99999999999999999999", "64, 128", "default,64",
        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,"
        "34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,"
        "64"}},
      {"PKTMALLOC_RESERVE", {"",         "1",      "64",         "64:",        ":5",
                             "64:0",     "64:5,",  "64:5,,64:5", "64;5",       "64:5x",
                             "0:5",      "2MiB:1", "64:-1",      "64:5,1500",  "64:99999999999999",
                             "huge",     ",huge",  "64:5huge",   "64:5,huge,", "64:5,huge,64:5",
                             "64:5,Huge"}},
      {"PKTMALLOC_HUGEPAGES", {"", "0", "1", "always", "Never", "auto "}},
      {"PKTMALLOC_LIMIT",
       {"", "1", "1K", "1023K", "0%", "101%", "90 %", "%", "2GiB,3GiB", "-1", "99999GiB"}},
      {"PKTMALLOC_SOFT_LIMIT", {"", "none", "0%", "512KiB", "50%%"}},
      {"PKTMALLOC_NEXT", {"", "0", "jemalloc", "libmimalloc.so.2"}},
      {"PKTMALLOC_AGE",
       {"", "0", "1", "s", "3ms", "0s", "61m", "2h", "3601s", "1 s", "1s ", "1s,2s", "-1s", "1.5s",
        "18446744073709551617s", "99999999999999999999ms"}},
      {"PKTMALLOC_BACKGROUND", {"", "2", "yes", "AUTO", "01"}},
      {"PKTMALLOC_TRACE", {"", "1", "on"}},
      {"PKTMALLOC_VERBOSE", {"", "2", "yes", "on"}},
      {"PKTMALLOC_PROFILE", {"", "1", "on"}},
      {"PKTMALLOC_PROFILE_RATE", {"", "0", "-1", "1025GiB", "512 KiB", "1s"}},
      {"PKTMALLOC_PROFILE_STACKS", {"", "0", "libunwind", "fp"}},
      {"PKTMALLOC_PROFILE_DEPTH", {"", "3", "257", "1k", "all"}},
      {"PKTMALLOC_PROFILE_THREADS", {"", "2", "yes"}},
      {"PKTMALLOC_PROFILE_LEAKS", {"", "2", "yes"}},
      {"PKTMALLOC_SAMPLE_GUARD", {"", "-1", "1000000001", "1k", "on"}},
      {"PKTMALLOC_CHECK", {"", "0", "1", "warn"}},
      {"PKTMALLOC_CLEAR", {"", "0", "63", "257KiB", "all"}},
      {"PKTMALLOC_CANARY", {"", "2", "yes"}},
      {"PKTMALLOC_QUARANTINE", {"", "-1", "1T", "17GiB", "1 MiB"}},
      {"PKTMALLOC_QUARANTINE_RATE", {"", "0", "-1", "1000001", "1K"}},
      {"PKTMALLOC_GUARD", {"", "-1", "257KiB", "64,128"}},
  };
  CHECK(std::size(rows) == kOptions.size());
  for (const Row& row : rows) {
    for (const std::string& value : row.values) {
      const Outcome outcome = hello_with(row.name, value);
      INFO(row.name << "=" << value << ": " << outcome);
      check_untouched(outcome);
      CHECK(lines(outcome.err) == 1);
      const std::string told = value.size() > 80 ? value.substr(0, 80) + "..." : value;
      CHECK(outcome.err.find("pktmalloc: " + row.name + "=" + told + " is not understood") == 0);
      CHECK(outcome.err.find("accepted: " + option(row.name).accepted) != std::string::npos);
      CHECK(outcome.err.find("using " + option(row.name).default_value + "\n") !=
            std::string::npos);
    }
  }
}

TEST_CASE("of a value or a name that is as long as it can be the beginning is told") {
  const std::string sevens(100000, '7');
  const Outcome value = hello_with("PKTMALLOC_AGE", sevens);
  check_untouched(value);
  CHECK(value.err == "pktmalloc: PKTMALLOC_AGE=" + sevens.substr(0, 80) +
                         "... is not understood; accepted: " + option("PKTMALLOC_AGE").accepted +
                         "; using 1s\n");
  const Outcome name = hello_with("PKTMALLOC_" + sevens, "1");
  check_untouched(name);
  CHECK(lines(name.err) == 1);
  CHECK(name.err.find("PKTMALLOC_" + sevens.substr(0, 80) + "... is ignored; the options are ") !=
        std::string::npos);
  CHECK(name.err.find(kOptions.back().name + "\n") != std::string::npos);
}

TEST_CASE("a terminal finds nothing to obey in what is told of a value") {
  const Outcome outcome = hello_with("PKTMALLOC_AGE", "\033[2J\a\n\x7f");
  check_untouched(outcome);
  CHECK(outcome.err.find("pktmalloc: PKTMALLOC_AGE=?[2J??? is not understood") == 0);
  CHECK(lines(outcome.err) == 1);
}

TEST_CASE("a path that is as long as it can be is told whole") {
  TemporaryFolder folder;
  std::string path = folder.path();
  while (path.size() < 3500) path += "/" + std::string(200, 'x');
  for (const std::string& file : {path + "/report.json", path + "/report.trace"}) {
    const bool traces = file.find(".trace") != std::string::npos;
    const Outcome outcome = hello_with(traces ? "PKTMALLOC_TRACE" : "PKTMALLOC_STATS", file);
    check_untouched(outcome);
    CHECK(outcome.err == "pktmalloc: cannot write " +
                             std::string(traces ? "the trace " : "statistics to ") + file +
                             ": No such file or directory\n");
  }
  std::filesystem::create_directories(path);
  const Outcome outcome = Program({"sh", "-c", "PKTMALLOC_TELL=$$ exec ls /dev/null"})
                              .preloaded()
                              .with("PKTMALLOC_STATS", path + "/report.json")
                              .run();
  CHECK(outcome.err == "pktmalloc: statistics are in " + path +
                           "/report.json; read them with: pktmalloc report " + path +
                           "/report.json\n");
}

TEST_CASE("a good value is taken without a word") {
  const std::pair<std::string, std::string> good[] = {
      {"PKTMALLOC_STATS", "0"},          {"PKTMALLOC_CLASSES", "default"},
      {"PKTMALLOC_CLASSES", "1"},        {"PKTMALLOC_CLASSES", "1536,64"},
      {"PKTMALLOC_CLASSES", "64,64,64"}, {"PKTMALLOC_CLASSES", "64,2K,8KiB,1M"},
      {"PKTMALLOC_CLASSES", "1MiB"},     {"PKTMALLOC_NEXT", "default"},
      {"PKTMALLOC_AGE", "4ms"},          {"PKTMALLOC_AGE", "250ms"},
      {"PKTMALLOC_AGE", "3600s"},        {"PKTMALLOC_AGE", "5m"},
      {"PKTMALLOC_AGE", "1h"},           {"PKTMALLOC_BACKGROUND", "auto"},
      {"PKTMALLOC_BACKGROUND", "0"},     {"PKTMALLOC_BACKGROUND", "1"},
      {"PKTMALLOC_VERBOSE", "0"},        {"PKTMALLOC_STATS_INTERVAL", "0"},
      {"PKTMALLOC_CONTROL", "1"},        {"PKTMALLOC_TELL", "1"},
      {"PKTMALLOC_TRACE", "0"},          {"PKTMALLOC_TRACE", "/dev/null"},
      {"PKTMALLOC_CHILDREN", "0"},       {"PKTMALLOC_CHILDREN", "1"},
      {"PKTMALLOC_SIZES", "0"},          {"PKTMALLOC_RESERVE", "0"},
      {"PKTMALLOC_RESERVE", "64:5"},     {"PKTMALLOC_RESERVE", "1500:10,64:5,2K:3"},
      {"PKTMALLOC_LIMIT", "0"},          {"PKTMALLOC_LIMIT", "8MiB"},
      {"PKTMALLOC_LIMIT", "100%"},       {"PKTMALLOC_SOFT_LIMIT", "1%"},
      {"PKTMALLOC_HUGEPAGES", "auto"},   {"PKTMALLOC_HUGEPAGES", "madvise"},
      {"PKTMALLOC_HUGEPAGES", "never"},  {"PKTMALLOC_RESERVE", "64:5,huge"},
  };
  for (const auto& [name, value] : good) {
    const Outcome outcome = hello_with(name, value);
    INFO(name << "=" << value << ": " << outcome);
    check_untouched(outcome);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("PKTMALLOC_VERBOSE tells the version and every option with its origin") {
  std::string expected =
      std::string("pktmalloc: version ") + PKTMALLOC_VERSION + " of libpktmalloc.so\n";
  for (const Option& known : kOptions) {
    const bool given = known.name == "PKTMALLOC_VERBOSE" || known.name == "PKTMALLOC_AGE";
    const std::string value = known.name == "PKTMALLOC_VERBOSE" ? "1"
                              : given                           ? "250ms"
                                                                : known.default_value;
    expected += "pktmalloc: " + known.name + "=" + value + " (" +
                (given ? "environment" : "default") + ")\n";
  }
  for (const std::string way : {"plain", "shared", "static"}) {
    Program program({program_path("hello", way)});
    if (way == "plain") program.preloaded();
    program.with("PKTMALLOC_VERBOSE", "1").with("PKTMALLOC_AGE", "250ms");
    const Outcome outcome = program.run();
    check_untouched(outcome);
    CHECK(outcome.err == expected);
  }
}

TEST_CASE("PKTMALLOC_CLASSES pools just these sizes, for requests that fill half of them") {
  const auto classes_of = [](const std::string& list) {
    return Program({program_path("pooled_sizes"), "1", "16", "32", "64", "65", "700", "768", "1000",
                    "1536", "1537", "100000", "2000000"})
        .preloaded()
        .with("PKTMALLOC_CLASSES", list)
        .run();
  };
  CHECK(classes_of("64,1536").out == "0\n0\n64\n64\n0\n0\n1536\n1536\n1536\n0\n0\n0\n");
  CHECK(classes_of("1536,64,1536").out == "0\n0\n64\n64\n0\n0\n1536\n1536\n1536\n0\n0\n0\n");
  CHECK(classes_of("16").out == "16\n16\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n");
  CHECK(classes_of("100K").out == "0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n102400\n0\n");
  CHECK(classes_of("default").out == "16\n16\n32\n64\n80\n768\n768\n1024\n1536\n1600\n114688\n0\n");
}

TEST_CASE("programs work with any list of classes", "[.long]") {
  for (const std::string list : {"64,1536", "1", "1MiB", "48,100,1000,40000", "4096,8K"}) {
    for (const std::string name :
         {"objects_of_all_sizes_do_not_overlap", "realloc_keeps_contents", "free_keeps_errno",
          "aligned_blocks_are_aligned", "fork_child_works_without_exec"}) {
      const Outcome outcome =
          Program({program_path(name)}).preloaded().with("PKTMALLOC_CLASSES", list).run();
      INFO(list << ", " << name << ": " << outcome);
      CHECK(outcome.clean());
    }
  }
}

TEST_CASE("a PKTMALLOC_NEXT that cannot be loaded is told in one line, and the default serves") {
  TemporaryFolder folder;
  folder.write("text.so", "no library\n");
  for (const std::string& path : {std::string("/nonexistent/libmimalloc.so"), folder / "text.so",
                                  std::string("/lib/x86_64-linux-gnu/libm.so.6")}) {
    const Outcome outcome = hello_with("PKTMALLOC_NEXT", path);
    INFO(path << ": " << outcome);
    check_untouched(outcome);
    CHECK(lines(outcome.err) == 1);
    CHECK(outcome.err.find("pktmalloc: PKTMALLOC_NEXT=" + path + ": not a usable mimalloc") == 0);
    CHECK(outcome.err.find("using the next allocator") != std::string::npos);
    const Outcome work =
        Program({program_path("work_under_limits")}).preloaded().with("PKTMALLOC_NEXT", path).run();
    INFO(work);
    CHECK(work.status == 0);
  }
}

TEST_CASE("a setuid program ignores the environment") {
  TemporaryFolder folder;
  const std::string copy = setuid_copy(program_path("hello", "static"), folder);
  const auto run = [&] {
    return Program({"setpriv", "--reuid=65534", "--clear-groups", copy})
        .with("PKTMALLOC_VERBOSE", "1")
        .with("PKTMALLOC_STATS", "1")
        .with("PKTMALLOC_UNKNOWN", "1")
        .run();
  };
  REQUIRE(chmod(copy.c_str(), 0755) == 0);
  const Outcome ordinary = run();
  check_untouched(ordinary);
  CHECK(ordinary.err.find("pktmalloc: version") != std::string::npos);
  CHECK(ordinary.err.find("PKTMALLOC_UNKNOWN") != std::string::npos);
  REQUIRE(chmod(copy.c_str(), 04755) == 0);
  const Outcome setuid = run();
  check_untouched(setuid);
  CHECK(setuid.err.empty());
}

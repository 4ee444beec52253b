// SPDX-License-Identifier: MIT
// pktmalloc compare: what it tells of the runs.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "tests/command_page.h"
#include "tests/compare.h"

TEST_CASE("a table of each figure in 80 columns, and what was found") {
  Workplace place;
  const Outcome outcome =
      place.run({"-n", "5"}, under_mine("exec /usr/bin/python3 -c 'x = bytearray(60 << 20)'"));
  INFO(outcome);
  CHECK(outcome.status == 0);
  for (const std::string& line : lines(outcome.out)) CHECK(line.size() <= 80);
  for (const std::string figure : {"time ", "CPU ", "peak RSS ", "page faults "}) {
    CHECK(has(outcome.out, "\n" + figure) + (outcome.out.rfind(figure, 0) == 0) == 1);
  }
  CHECK(has(outcome.out, "Least peak RSS: glibc; beyond noise."));
  CHECK(has(outcome.out, "Least page faults: glibc; beyond noise."));
}

TEST_CASE("medians, ratios and verdicts are those of the runs") {
  Workplace place;
  const Outcome outcome = place.run(
      {"-n", "6", "--json"}, under_mine("exec /usr/bin/python3 -c 'x = bytearray(60 << 20)'"));
  INFO(outcome);
  const Json json = Json::parse(outcome.out);
  const Json glibc = contender(json, "glibc");
  const Json mine = contender(json, "mine");
  for (const std::string key : {"time_ms", "cpu_ms", "peak_rss_bytes", "page_faults"}) {
    const auto runs = mine[key]["runs"].get<std::vector<double>>();
    REQUIRE(runs.size() == 6);
    CHECK(std::is_sorted(runs.begin(), runs.end()));
    CHECK(mine[key]["median"].get<double>() == Approx((runs[2] + runs[3]) / 2));
    const double mean = std::accumulate(runs.begin(), runs.end(), 0.0) / 6;
    double squares = 0;
    for (const double run : runs) squares += (run - mean) * (run - mean);
    CHECK(mine[key]["mean"].get<double>() == Approx(mean));
    // 2.571: Student's t of six values.
    CHECK(mine[key]["interval"].get<double>() ==
          Approx(2.571 * std::sqrt(squares / 5 / 6)).epsilon(1e-3).margin(1e-6));
    CHECK(mine[key]["least"] == runs.front());
    CHECK(mine[key]["most"] == runs.back());
    CHECK(mine[key]["to_glibc"].get<double>() ==
          Approx(mine[key]["median"].get<double>() / glibc[key]["median"].get<double>()));
  }
  CHECK(mine["peak_rss_bytes"]["differs_from_glibc"] == true);
  CHECK(mine["peak_rss_bytes"]["place"] == "");
  CHECK(glibc["peak_rss_bytes"]["place"] == "best");
  CHECK(mine["peak_rss_bytes"]["least"].get<double>() > 60 << 20);
  // What a child takes over from us is not told as its own: a shell needs 2 MiB or less.
  CHECK(glibc["peak_rss_bytes"]["median"].get<double>() < 3 << 20);
}

TEST_CASE(
    "a row that varies is not told from the best, though a better one is: that is explained") {
  Workplace place;
  const std::string other = place / "other.so";
  std::filesystem::copy_file(library_path(), other);
  // Peak memory: 60 MiB without, always 63 with mine, 66 with the other one but once 40.
  const std::string script = R"raw(
    mib=60
    case $LD_PRELOAD in *mine.so*) mib=63;; *other.so*) mib=66; echo >> $1/other
    [ $(wc -l < $1/other) -eq 3 ] && mib=40;; esac
    exec /usr/bin/python3 -c "x = bytearray($mib << 20)")raw";
  const Outcome outcome = place.run({"-n", "5", "--with", "other=" + other}, script);
  INFO(outcome);
  const auto of = [&](const std::string& line) { return has(outcome.out, line); };
  CHECK(
      of("peak RSS: other varies so much from run to run that it is not told from the best, though "
         "mine, with a lower median, is"));
  CHECK(of(" ~ best\n"));
  CHECK(of("\n~: not told from it, for their runs mix"));
}

TEST_CASE("a comparison is written as Markdown and as CSV, too") {
  Workplace place;
  const Outcome outcome = place.run(
      {"-n", "2", "--export-markdown", place / "a.md", "--export-csv", place / "a.csv", "--json"},
      "true");
  INFO(outcome);
  CHECK(outcome.status == 0);
  const Json mine = contender(Json::parse(outcome.out), "mine");
  const std::string markdown = place.read("a.md");
  INFO(markdown);
  CHECK(has(markdown, "\n| time | median | mean | "));
  CHECK(has(markdown, "\n| mine | "));
  const std::vector<std::string> rows = lines(place.read("a.csv"));
  REQUIRE(rows.size() == 9);
  CHECK(rows[0] == "allocator,figure,runs,median,mean,interval,least,most");
  const auto is_faults = [](const std::string& row) {
    return row.rfind("mine,page_faults,", 0) == 0;
  };
  const auto row = std::find_if(rows.begin(), rows.end(), is_faults);
  REQUIRE(row != rows.end());
  const Json& faults = mine["page_faults"];
  CHECK(has(*row, "," + std::to_string(faults["least"].get<int>()) + "," +
                      std::to_string(faults["most"].get<int>())));
  check_refused(place.run({"--export-csv", place / "no/a.csv"}, "true"), place / "no/a.csv");
  CHECK(place.run({"-n", "1", "--export-csv", "-"}, "true").out.rfind("allocator,figure,", 0) == 0);
}

TEST_CASE("of four runs nothing is told") {
  Workplace place;
  const Outcome outcome = place.run(
      {"-n", "4", "--json"}, under_mine("exec /usr/bin/python3 -c 'x = bytearray(60 << 20)'"));
  INFO(outcome);
  const Json json = Json::parse(outcome.out);
  CHECK(contender(json, "mine")["peak_rss_bytes"]["differs_from_glibc"] == false);
  CHECK(contender(json, "glibc")["peak_rss_bytes"]["place"] == "");
  CHECK(any_finding(json, "Fewer than 5 runs"));
}

TEST_CASE("an allocator under which the command fails is told, its figures are left out") {
  Workplace place;
  const std::string count = "echo >> $1/runs-${LD_PRELOAD##*/}; ";
  for (const auto& [end, told] :
       {std::pair{"echo words; exit 3", "exit status 3"}, {"kill -SEGV $$", "killed by SIGSEGV"}}) {
    const Outcome outcome =
        place.run({"-n", "2", "--json", "--html", place / "page.html"}, count + under_mine(end));
    INFO(outcome);
    CHECK(outcome.status == 1);
    const Json json = Json::parse(outcome.out);
    CHECK(contender(json, "mine")["failure"] == told);
    CHECK(!contender(json, "mine").contains("time_ms"));
    CHECK(contender(json, "glibc")["failure"] == nullptr);
    CHECK(contender(json, "glibc")["time_ms"]["runs"].size() == 2);
    CHECK(any_finding(json, std::string("mine failed: ") + told));
    CHECK(!any_finding(json, "stdout"));
    check_page(place / "page.html");
  }
  CHECK(lines(place.read("runs-mine.so")).size() == 2);  // one for each comparison

  const Outcome nowhere = place.run({"-n", "1"}, "echo >> $1/once; exit 7");
  check_refused(nowhere, "sh fails as it is (exit status 7): see why with --show");
  CHECK(place.read("once") == "\n");
}

TEST_CASE("outputs that differ between allocators are told, but not those that always differ") {
  Workplace place;
  const auto findings = [&](const std::string& script) {
    return Json::parse(place.run({"-n", "1", "--json"}, script).out);
  };
  CHECK(any_finding(findings(under_mine("echo more") + "; echo same"),
                    "What it writes to stdout is not glibc's under mine."));
  CHECK(!any_finding(findings("echo same"), "stdout"));
  CHECK(any_finding(findings("echo $$; sleep 0.01"), "not write the same"));
  CHECK(!any_finding(findings("echo $$ >&2"), "stdout"));
}

TEST_CASE("--classes compares the default classes with others") {
  TemporaryFolder folder;
  const auto compare = [&](const Words& options) {
    Words words = {build_path("pktmalloc"), "compare"};
    words.insert(words.end(), options.begin(), options.end());
    // 10,000 objects of 4,200 bytes, and under what they live.
    const Words command = {"--", "sh", "-c",
                           "echo \"$LD_PRELOAD $PKTMALLOC_CLASSES\" >> $0; exec env "
                           "PYTHONMALLOC=malloc /usr/bin/python3 -c 'a = [bytes(4150) + b\"x\" "
                           "for i in range(10000)]'",
                           folder / "log"};
    words.insert(words.end(), command.begin(), command.end());
    return Program(words).with("PKTMALLOC_CLASSES", "64,4096").run();
  };
  const Outcome outcome = compare({"-n", "5", "--classes", "64,4208"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, "Least peak RSS: tuned, 0.9"));
  CHECK(has(outcome.out, "of default's; beyond noise."));
  CHECK(has(outcome.out, "/default\n"));
  const std::vector<std::string> log = lines(folder.read("log"));
  REQUIRE(log.size() == 11);
  CHECK(std::count(log.begin(), log.end(), library_path() + " default") == 5);
  CHECK(std::count(log.begin(), log.end(), library_path() + " 64,4208") == 5);
  const Json json = Json::parse(compare({"-n", "1", "--json", "--classes", "64"}).out);
  CHECK(json["allocators"].size() == 2);
  CHECK(contender(json, "tuned")["classes"] == "64");
  check_refused(compare({"--classes", "64,x"}), "--classes=64,x is not understood");
  check_refused(compare({"--classes", "64", "--with", "jemalloc"}), "excludes");
}

TEST_CASE("the page of a comparison is whole and fits its window") {
  Workplace place;
  const Outcome outcome =
      place.run({"-n", "2", "--html", place / "page.html"}, "echo '<b>&\"' > /dev/null");
  INFO(outcome);
  CHECK(outcome.status == 0);
  check_page(place / "page.html");
  check_widths(place / "page.html");
  const std::string page = place.read("page.html");
  CHECK(has(page, "mine: median"));
  CHECK(has(page, "&lt;b&gt;&amp;"));
}

TEST_CASE("its help has an example and tells how noise is judged") {
  const Outcome outcome = Program({build_path("pktmalloc"), "compare", "--help"}).run();
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, "Example:"));
  CHECK(has(outcome.out, "Mann and Whitney"));
}

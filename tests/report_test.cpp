// SPDX-License-Identifier: MIT
// pktmalloc report: the real command, on files that the library wrote, and on made ones.
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include "tests/command_page.h"
#include "tests/report.h"

TEST_CASE("what the library wrote of a real program is reported in 80 columns") {
  Files files;
  const Outcome program =
      Program({"/usr/bin/python3", "-c", "print(len([str(i) for i in range(99999)]))"})
          .preloaded()
          .with("PKTMALLOC_STATS", files / "python.json")
          .run();
  INFO(program);
  REQUIRE(program.status == 0);
  const Json json = Json::parse(files.read("python.json"));
  const Outcome outcome = report({files / "python.json", "--html", files / "python.html"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  CHECK(has(lines(outcome.out)[0], "python3 " + std::to_string(json["pid"].get<int>())));
  for (const std::string& line : lines(outcome.out)) CHECK(line.size() <= 80);
  for (const std::string place : {"live", "in threads", "in depot", "in slabs", "empty slabs",
                                  "metadata", "all", "resident", "waiting", "purged", "calls"}) {
    CHECK(!line_of(outcome.out, place).empty());
  }
  size_t used = 0;
  for (const Json& c : json["classes"]) {
    if (c["allocs"] == 0 && c["fills"] == 0 && c["commits"] == 0) continue;
    ++used;
    CHECK(!line_of(outcome.out, std::to_string(c["bytes"].get<int>())).empty());
  }
  CHECK(used > 10);
  check_page(files / "python.html");
}

TEST_CASE("one file: places with their shares, then classes by committed bytes") {
  Files files;
  const Outcome outcome = report(
      {files.add("one.json",
                 statistics(7, 0, {{64, 2 * kMiB, 0}, {1024, 5 * kMiB, 0}, {4096, 3 * kMiB, 0}}))});
  INFO(outcome);
  CHECK(line_of(outcome.out, "server") == "server 7, 1970-01-01 00:00:00, pktmalloc 0.1.0");
  CHECK(has(line_of(outcome.out, "live"), "live 10.0 MiB 71.4 %"));
  CHECK(has(line_of(outcome.out, "empty slabs"), "empty slabs 3.0 MiB 21.4 %"));
  CHECK(has(line_of(outcome.out, "all"), "all 14.0 MiB"));
  CHECK(line_of(outcome.out, "1024") == "1024 5.0 MiB 0 B 0 B 0 B 1.0 MiB 6.0 MiB 83.3");
  CHECK(outcome.out.find("\n   1024") < outcome.out.find("\n   4096"));
  CHECK(outcome.out.find("\n   4096") < outcome.out.find("\n     64"));
}

TEST_CASE("two files: what changed, the largest growth first") {
  Files files;
  const std::string before = files.add(
      "before.json",
      statistics(7, 100, {{64, kMiB, 0}, {128, 9 * kMiB, 0}, {1024, kMiB, 0}, {2048, kMiB, 0}}));
  const std::string after = files.add(
      "after.json",
      statistics(8, 50,
                 {{64, 2 * kMiB, 0}, {128, 4 * kMiB, 0}, {1024, 9 * kMiB, 0}, {2048, kMiB, 0}}));
  const Outcome outcome = report({before, after});
  INFO(outcome);
  CHECK(has(line_of(outcome.out, "before"), "server 7"));  // as given, not by time
  CHECK(line_of(outcome.out, "live") == "live 12.0 MiB 16.0 MiB +4.0 MiB");
  CHECK(line_of(outcome.out, "metadata") == "metadata 1.0 MiB 1.0 MiB =");
  CHECK(line_of(outcome.out, "1024") == "1024 1.0 MiB 9.0 MiB +8.0 MiB 2.0 MiB 10.0 MiB +8.0 MiB");
  CHECK(line_of(outcome.out, "128") == "128 9.0 MiB 4.0 MiB -5.0 MiB 10.0 MiB 5.0 MiB -5.0 MiB");
  CHECK(outcome.out.find("\n   1024") < outcome.out.find("\n     64"));
  CHECK(outcome.out.find("\n     64") < outcome.out.find("\n    128"));
  CHECK(has(outcome.out, "1 of 4 classes are as before."));
}

TEST_CASE("a series of one process has a row for each file, sorted by time") {
  Files files;
  Words names;
  for (const int i : {2, 0, 3, 1}) {
    const auto n = static_cast<uint64_t>(i);
    names.push_back(files.add(std::to_string(9 - i) + ".json",
                              statistics(7, 1000 + 60 * i, {{64, (n + 1) * kMiB, 100 * n * n}})));
  }
  names.insert(names.end(), {"--html", files / "page.html"});
  const Outcome outcome = report(names);
  INFO(outcome);
  CHECK(has(line_of(outcome.out, "server"), "server 7, 4 files from 1970-01-01 00:16:40"));
  CHECK(has(line_of(outcome.out, "0:00"), "0:00 1.0 MiB"));
  CHECK(has(line_of(outcome.out, "3:00"), "3:00 4.0 MiB"));
  CHECK(outcome.out.find(" 1:00 ") < outcome.out.find(" 2:00 "));
  CHECK(line_of(outcome.out, "64") == "64 1.0 MiB 4.0 MiB +3.0 MiB 2.0 MiB 5.0 MiB +3.0 MiB");
  const std::string page = files.read("page.html");
  check_page(files / "page.html");
  check_widths(files / "page.html");
  CHECK(has(page,
            "after 2:00\nmetadata 1.0 MiB\nempty slabs 1.0 MiB\nin slabs 0 B\nin depot 0 B\n"
            "in threads 0 B\nlive 3.0 MiB\nresident 3.0 MiB"));
  // 100 * (9 - 4) magazines in the last minute.
  CHECK(has(page, "depot takes</span> <b>8.33</b>"));
}

TEST_CASE("files of several processes have a row for each, as it was last, and their sum") {
  Files files;
  const Words names = {
      files.add("a.json", statistics(11, 100, {{64, kMiB, 0}})),
      files.add("b.json", statistics(11, 110, {{64, 2 * kMiB, 0}})),
      files.add("c.json", statistics(12, 100, {{64, 4 * kMiB, 0}, {128, kMiB, 0}}))};
  Words all = names;
  all.insert(all.end(), {"--html", files / "page.html"});
  const Outcome outcome = report(all);
  INFO(outcome);
  CHECK(has(outcome.out, "2 processes, 3 files"));
  CHECK(has(line_of(outcome.out, "11"), "11 2.0 MiB"));
  CHECK(has(line_of(outcome.out, "12"), "12 5.0 MiB"));
  CHECK(has(line_of(outcome.out, "all"), "all 7.0 MiB"));
  CHECK(line_of(outcome.out, "64") == "64 6.0 MiB 0 B 0 B 0 B 2.0 MiB 8.0 MiB 75.0");
  check_page(files / "page.html");
  const std::string page = files.read("page.html");
  CHECK(has(page, ">server 12</text>"));
  CHECK(has(page, "Memory of server 11"));  // over time; the other has one file

  Words one = names;
  one.insert(one.end(), {"--pid", "12"});
  CHECK(line_of(report(one).out, "server") == "server 12, 1970-01-01 00:01:40, pktmalloc 0.1.0");
}

TEST_CASE("a file that is none of statistics is left out, and told") {
  Files files;
  const std::string good = files.add("good.json", statistics(7, 0, {{64, kMiB, 0}}));
  files.write("text.json", "hello\n");
  const Outcome outcome = report({files / "text.json", good, files / "no.json"});
  INFO(outcome);
  CHECK(outcome.status == 1);
  CHECK(outcome.out == report({good}).out);
  const Words told = lines(outcome.err);
  REQUIRE(told.size() == 2);
  CHECK(has(told[0], "pktmalloc: left out: " + files / "text.json" + " is not a statistics file"));
  CHECK(has(told[1], "no.json"));
}

TEST_CASE("statistics are read from stdin") {
  Files files;
  const std::string good = files.add("good.json", statistics(7, 0, {{64, kMiB, 0}}));
  const std::string command = build_path("pktmalloc") + " report - < ";
  const Outcome outcome = Program({"sh", "-c", command + good}).with("TZ", "UTC").run();
  INFO(outcome);
  CHECK(outcome.out == report({good}).out);
  check_refused(Program({"sh", "-c", command + "/dev/null"}).run(),
                "stdin is not a statistics file");
}

TEST_CASE("a report is printed as JSON: of each process each file, by place and class") {
  Files files;
  const Outcome outcome =
      report({"--json", files.add("a.json", statistics(11, 110, {{64, 2 * kMiB, 0}})),
              files.add("b.json", statistics(11, 100, {{64, kMiB, 0}})),
              files.add("c.json", statistics(12, 100, {{64, 4 * kMiB, 0}, {128, kMiB, 0}}))});
  INFO(outcome);
  CHECK(outcome.status == 0);
  const Json processes = Json::parse(outcome.out)["processes"];
  REQUIRE(processes.size() == 2);
  REQUIRE(processes[0]["pid"] == 11);
  CHECK(processes[0]["readings"][0]["live_bytes"] == kMiB);
  CHECK(processes[0]["readings"][1]["live_bytes"] == 2 * kMiB);
  const Json& other = processes[1]["readings"][0];
  CHECK(other["empty_slabs_bytes"] == 2 * kMiB);
  CHECK(other["metadata_bytes"] == kMiB);
  CHECK(other["classes"][1]["bytes"] == 128);
  CHECK(other["classes"][1]["live_bytes"] == kMiB);
  CHECK(other["classes"][1]["committed_bytes"] == 2 * kMiB);
}

TEST_CASE("bad input is refused in one line, and no page is begun or changed") {
  Files files;
  files.write("page.html", "old");
  const std::string good = files.add("good.json", statistics(7, 0, {{64, kMiB, 0}}));
  Json foreign = statistics(7, 0, {});
  foreign["schema"] = 99;
  files.write("text.json", "hello\n");
  files.write("empty.json", "");
  files.write("list.json", "[]");
  files.write("cut.json", R"({"schema":1,"version":"0.1.0","program":"server","pid":7,"ti)");
  files.write("number.json", R"({"schema": "one"})");
  for (const std::string name : {"text", "empty", "list", "cut", "number", "missing"}) {
    const std::string bad = files / (name + ".json");
    check_refused(report({bad, "--html", files / "page.html"}), bad);
    check_refused(report({bad, bad, "--html", files / "page.html"}),
                  "none of these 2 files has statistics; the first: ");
  }
  check_refused(report({files / "cut.json"}), "cut.json is cut off at byte 60: ");
  check_refused(report({files.path()}), files.path());
  check_refused(report({files.add("foreign.json", foreign)}), "schema 99");
  check_refused(report({good, "--pid", "8"}), "process 8");
  check_refused(report({good, "--html", files / "no/page.html"}), files / "no/page.html");
  check_refused(report({good, "--html", files.path()}), "folder");
  check_refused(report({}), "FILE");
  check_refused(report({good, "--nonsense"}), "--nonsense");
  check_refused(report({good, "--pid", "abc"}), "--pid: abc is not a number from 1 to 2147483647");
  check_refused(report({good, "--pid", std::string(100000, '7')}), "is not a number");
  CHECK(files.read("page.html") == "old");
  for (const auto& entry : std::filesystem::directory_iterator(files.path())) {
    CHECK(entry.path().filename().string().find(".html.") == std::string::npos);
  }
}

TEST_CASE("its help has an example and tells what is done with several processes") {
  const Outcome outcome = report({"--help"});
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, "Example:"));
  CHECK(has(outcome.out, "several processes"));
}

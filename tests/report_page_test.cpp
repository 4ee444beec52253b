// SPDX-License-Identifier: MIT
// The page of pktmalloc report: what it is written to, and what it withstands.
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include "tests/command_page.h"
#include "tests/report.h"

TEST_CASE("a page of files of one second, or without any class, is whole") {
  Files files;
  const std::string same = files.add("same.json", statistics(7, 5, {{64, kMiB, 1}}));
  const std::string empty = files.add("empty.json", statistics(7, 6, {}));
  for (const Words& names :
       {Words{same, same, same}, Words{empty}, Words{same, empty}, Words{empty, empty, empty}}) {
    Words words = names;
    words.insert(words.end(), {"--html", files / "page.html"});
    const Outcome outcome = report(words);
    INFO(outcome);
    CHECK(outcome.status == 0);
    check_page(files / "page.html");
  }
}

TEST_CASE("a program's name is shown as text, on the terminal and on the page") {
  Files files;
  Json json = statistics(7, 0, {{64, kMiB, 0}});
  json["program"] = "\x1b[31m</title><script>&\"";
  const Outcome outcome = report({files.add("a.json", json), "--html", files / "page.html"});
  INFO(outcome);
  CHECK(!has(outcome.out, "\x1b"));
  check_page(files / "page.html");
}

TEST_CASE("areas are stacked, and areas and bars are as large as what they show") {
  Files files;
  const Outcome outcome =
      report({files.add("a.json", statistics(7, 0, {{64, kMiB, 0}, {1024, 7 * kMiB, 0}})),
              files.add("b.json", statistics(7, 9, {{64, 2 * kMiB, 0}, {1024, 3 * kMiB, 0}})),
              files.add("c.json", statistics(7, 20, {{64, 2 * kMiB, 0}, {1024, 5 * kMiB, 0}})),
              "--html", files / "page.html"});
  REQUIRE(outcome.status == 0);
  const Outcome check = Program({"/usr/bin/python3", "-c", R"PY(
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
areas = []
for path in re.findall(r'<path d="M([^"]*)Z" class="area', page)[:6]:
    points = [tuple(map(float, point.split())) for point in path.split("L")]
    areas.append((points[:3][::-1], points[3:]))
for (_, top), (bottom, _) in zip(areas, areas[1:]):
    assert top == bottom, (top, bottom)
heights = [[low[1] - high[1] for low, high in zip(*area)] for area in areas]
pixels = heights[0][2] / 7  # of a MiB
expected = [[8, 5, 7], [0] * 3, [0] * 3, [0] * 3, [2] * 3, [1] * 3]
for got, mib in zip(heights, expected):
    assert all(abs(g - m * pixels) < 0.3 for g, m in zip(got, mib)), (got, mib)
times = [x for x, _ in areas[0][1]]
assert abs((times[1] - times[0]) * 20 - (times[2] - times[0]) * 9) < 5, times
bars = [float(w) for w in re.findall(r'<rect [^>]*width="([^"]*)"[^>]*class="area blue"', page)]
assert abs(bars[0] * 2 - bars[1] * 5) < 1, bars  # live bytes of 1024 and of 64
)PY",
                                 files / "page.html"})
                            .run();
  INFO(check);
  CHECK(check.status == 0);
}

TEST_CASE("a page that cannot be written to its end leaves the old one, and nothing beside it") {
  Files files;
  const std::string good = files.add("good.json", statistics(7, 0, {{64, kMiB, 0}}));
  std::filesystem::create_directory(files / "pages");
  files.write("pages/page.html", "old");
  const Outcome outcome =
      Program({build_path("pktmalloc"), "report", good, "--html", files / "pages/page.html"})
          .limit(RLIMIT_FSIZE, 2000)
          .run();
  check_refused(outcome, files / "pages/page.html");
  CHECK(files.read("pages/page.html") == "old");
  const std::filesystem::directory_iterator entries(files / "pages");
  CHECK(std::distance(begin(entries), end(entries)) == 1);
}

TEST_CASE("a page takes the place of an old one, through a link, with its rights") {
  namespace fs = std::filesystem;
  Files files;
  const std::string good = files.add("good.json", statistics(7, 0, {{64, kMiB, 0}}));
  files.write("page.html", "old");
  fs::permissions(files / "page.html", fs::perms::owner_all | fs::perms::group_read);
  fs::create_symlink("page.html", files / "link.html");
  CHECK(report({good, "--html", files / "link.html"}).status == 0);
  CHECK(fs::is_symlink(files / "link.html"));
  CHECK(fs::status(files / "page.html").permissions() ==
        (fs::perms::owner_all | fs::perms::group_read));
  check_page(files / "page.html");
  CHECK(report({good, "--html", "/dev/null"}).status == 0);
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a page goes to a pipe, alone, but not to a terminal") {
  Files files;
  const std::string good = files.add("good.json", statistics(7, 0, {{64, kMiB, 0}}));
  const Outcome piped = report({good, "--html", "-"});
  CHECK(piped.status == 0);
  files.write("page.html", piped.out);
  check_page(files / "page.html");
  const Outcome terminal =
      Program({"/usr/bin/python3", "-c",
               "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))",
               build_path("pktmalloc"), "report", good, "--html", "-"})
          .run();
  INFO(terminal);
  CHECK(terminal.status == 2);
  CHECK(has(terminal.out, "pktmalloc: a page on a terminal is no use"));
}

// SPDX-License-Identifier: MIT
// What a heap profile tells besides of what is live: the peak, all, and what was temporary; as
// text, as a page, for pprof, and of files that are older.
#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "tests/heap_profile.h"
#include "tests/refused.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

const std::string kProgram = program_path("has_known_peaks");

// By view; what is not named holds nothing there.
const std::map<std::string, Bytes> kKnown = {
    {"--live", {{"live_at_the_end", 5000}}},
    {"--peak", {{"live_at_the_end", 5000}, {"live_at_the_peak", 1e6}, {"makes_the_peak", 200000}}},
    {"--total",
     {{"live_at_the_end", 5000},
      {"live_at_the_peak", 1e6},
      {"makes_the_peak", 200000},
      {"live_after_the_peak", 600000},
      {"freed_at_once", 200000},
      {"freed_after_four", 30000 + 4 * 4800},
      {"freed_after_five", 40000 + 5 * 4800},
      {"freed_elsewhere", 35000},
      {"freed_when_grown", 900}}},
    {"--temporary",
     {{"freed_at_once", 200000},
      {"freed_after_four", 30000 + 4 * 4800},
      {"freed_after_five", 5 * 4800},
      {"freed_when_grown", 960}}},
};

std::vector<std::string> functions() {
  std::vector<std::string> all;
  for (const auto& [name, unused] : kKnown.at("--total")) all.push_back(name);
  return all;
}

void make_profile(const TemporaryFolder& folder) {
  const Outcome outcome = profiled({kProgram}, folder / "heap").run();
  INFO(outcome);
  REQUIRE(outcome.clean());
}

Outcome checked_by_python(const std::string& script, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/usr/bin/python3", "-c", script});
  return Program(arguments).run();
}

// The page's elements after its script ran.
std::string shown_by_browser(const TemporaryFolder& folder, const std::string& page) {
  return Program({"chromium", "--headless", "--no-sandbox", "--disable-gpu",
                  "--user-data-dir=" + folder / "profile", "--virtual-time-budget=5000",
                  "--dump-dom", "file://" + folder / page})
      .run()
      .out;
}

// As libraries before wrote it.
const char kOld[] =
    "heap profile: 1: 100 [3: 700] @ heapprofile\n"
    "# pktmalloc 0.1.0: old, process 7\n"
    "# rate 1 lost 0\n"
    "1: 100 [3: 700] @ 0x1234\n"
    "# samples 1 3 errors 0 0\n"
    "\nMAPPED_LIBRARIES:\n"
    "# end\n";

}  // namespace

TEST_CASE("live, peak, total and temporary bytes are known to the byte, and by which function") {
  TemporaryFolder folder;
  make_profile(folder);
  for (const auto& [view, known] : kKnown) {
    INFO(view);
    CHECK(bytes_of(folder / "heap", functions(), view) == known);
  }
}

TEST_CASE("peak and temporary bytes are estimated from samples") {
  TemporaryFolder folder;
  const Outcome outcome = profiled({kProgram, "50"}, folder / "heap", "32KiB").run();
  INFO(outcome);
  REQUIRE(outcome.clean());
  const auto near = [&](const std::string& view, const std::string& function, double size) {
    const double truth = 50 * kKnown.at(view).at(function);
    const double p = 1 - std::exp(-size / 32768);
    const double error = std::sqrt(truth * size * (1 - p) / p);
    const double estimate = bytes_of(folder / "heap", {function}, view)[function];
    INFO(view << " " << function << ": " << estimate << " of " << truth << " +- " << error);
    CHECK(std::abs(estimate - truth) < 6 * error);
    CHECK(error < truth / 10);
  };
  near("--peak", "live_at_the_peak", 1000);
  near("--peak", "makes_the_peak", 200000);
  near("--temporary", "freed_at_once", 100);
  CHECK(bytes_of(folder / "heap", {"live_after_the_peak"}, "--peak").empty());
  CHECK(bytes_of(folder / "heap", {"live_at_the_peak", "freed_elsewhere"}, "--temporary").empty());
}

TEST_CASE("the peak is shown where little of it is live at the end, else what is live") {
  TemporaryFolder folder;
  make_profile(folder);
  const Outcome peak = command({"--top", "1", "--frames", "1", folder / "heap"});
  INFO(peak);
  CHECK(peak.status == 0);
  CHECK(has(peak.out,
            ": 1.1 MiB in 1.02 k objects live at the peak, in 4 places\n"
            "also --live "));
  CHECK(has(peak.out, ", --total 2.1 MiB, --temporary 2"));
  CHECK(has(peak.out, "live_at_the_peak ("));
  const Outcome live = command({"--live", folder / "heap"});
  CHECK(has(live.out, " objects live, in 2 places\nalso --peak 1.1 MiB, "));
  CHECK(has(command({"--total", folder / "heap"}).out, " allocated since start, in "));
  CHECK(command({"--total", folder / "heap"}).out ==
        command({"--cumulative", folder / "heap"}).out);
  CHECK(has(command({"--temporary", folder / "heap"}).out, " objects temporary, in 6 places"));
  REQUIRE(profiled({program_path("leaks_known_objects")}, folder / "leaks").run().clean());
  CHECK(has(command({folder / "leaks"}).out, " objects live, in "));
}

TEST_CASE("of what is counted one thing is chosen, and leaks are live") {
  TemporaryFolder folder;
  make_profile(folder);
  check_refused(command({"--live", "--peak", folder / "heap"}), "choose one of --peak and --live");
  check_refused(command({"--temporary", "--leaks", folder / "heap"}),
                "--leaks is about what is live");
  const Outcome leaks = command({"--leaks", folder / "heap"});
  INFO(leaks);
  CHECK(has(leaks.out, " still allocated in 11 objects, in 2 places\n"));
  CHECK(
      has(leaks.out, "\nwhat is lost and what the program could still reach is not told apart\n"));
}

TEST_CASE("a file without peaks is read, and one of a later schema is refused") {
  TemporaryFolder folder;
  folder.write("old", kOld);
  const Outcome text = command({folder / "old"});
  INFO(text);
  CHECK(text.status == 0);
  CHECK(has(text.out, "old, process 7: 100 B in 1 objects live, in 1 place\nalso --total 700 B\n"));
  CHECK(
      has(command({"--total", folder / "old"}).out, ": 700 B in 3 objects allocated since start"));
  for (const std::string view : {"--peak", "--temporary"}) {
    check_refused(command({view, folder / "old"}), "knew no peaks and no temporary objects");
  }
  CHECK(command({"--html", folder / "page.html", folder / "old"}).clean());
  const std::string page = folder.read("page.html");
  CHECK(has(page, R"(const views = [["live",)"));
  CHECK(!has(page, R"(["peak",)"));
  std::string later = kOld;
  later.insert(later.find("1: 100 [3: 700] @ 0x"), "# schema 3\n");
  folder.write("later", later);
  check_refused(command({folder / "later"}), "schema 3; this pktmalloc reads up to 2");
}

TEST_CASE("growth of the peak is told, too") {
  TemporaryFolder folder;
  make_profile(folder);
  std::string text = folder.read("heap");
  const size_t large = text.find("# peak 1: 200000 ");
  REQUIRE(large != std::string::npos);
  text.replace(large, 16, "# peak 1: 100000");
  folder.write("before", text);
  const Outcome outcome = command({"--peak", folder / "before", folder / "heap"});
  INFO(outcome);
  CHECK(has(outcome.out, "has_known_peaks-plain: +97.7 KiB live at the peak, from "));
  CHECK(has(outcome.out, "makes_the_peak"));
  CHECK(!has(outcome.out, "live_at_the_peak"));
}

// What the page's script has: for every function the bytes in each view, and what it shows first.
TEST_CASE("the page offers live, peak, total and temporary bytes of every function") {
  TemporaryFolder folder;
  make_profile(folder);
  for (const std::string shown : {"", "temporary"}) {
    std::vector<std::string> words = {"--html", folder / "page.html", folder / "heap"};
    if (!shown.empty()) words.push_back("--" + shown);
    REQUIRE(command(words).clean());
    std::string known;
    for (const auto& [view, bytes] : kKnown) {
      for (const auto& [function, amount] : bytes) {
        known += view.substr(2) + " " + function + " " + std::to_string(std::lround(amount)) + "\n";
      }
    }
    const Outcome outcome = checked_by_python(
        R"PY(
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
root = json.loads(re.search(r"^const stacks = (.*);$", page, re.M)[1])
views = json.loads(re.search(r"^const views = (.*);", page, re.M)[1])
assert [view[0] for view in views] == ["peak", "live", "total", "temporary"], views
assert re.search(r'^choose\("(\w+)"\)', page, re.M)[1] == (sys.argv[3] or "peak")
for (name, about), bytes in zip(views, root[2]):
    assert re.match(r"[\d.]+ [KM]?i?B in [\d.]+( k)? objects ", about), about
found = {}
def walk(node):
    for number, (view, _) in enumerate(views):
        function = node[0].split(" ")[0]
        if node[2][number]:
            found[view, function] = found.get((view, function), 0) + node[2][number]
    for callee in node[1]:
        walk(callee)
    # Nothing is lost on the way up.
    if node[1] and node[0] == "all":
        for number in range(4):
            assert node[2][number] == sum(callee[2][number] for callee in node[1])
walk(root)
for line in sys.argv[2].splitlines():
    view, function, amount = line.split()
    assert found.get((view, function)) == int(amount), (line, found.get((view, function)))
assert ("live", "freed_at_once") not in found and ("temporary", "makes_the_peak") not in found
)PY",
        {folder / "page.html", known, shown});
    INFO(outcome);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("a browser shows what is chosen by the address and by a button") {
  skip_without({"chromium"});
  TemporaryFolder folder;
  make_profile(folder);
  REQUIRE(command({"--html", folder / "page.html", folder / "heap"}).clean());
  std::string page = folder.read("page.html");
  const std::string peak = shown_by_browser(folder, "page.html");
  INFO(peak);
  CHECK(has(peak, R"(value="peak" aria-pressed="true")"));
  CHECK(has(peak, "1.1 MiB in 1.02 k objects live at the peak."));
  CHECK(has(peak, ">makes_the_peak (has_known_peaks-plain)</div>"));
  CHECK(!has(peak, ">freed_at_once"));
  const std::string temporary = shown_by_browser(folder, "page.html#temporary");
  INFO(temporary);
  CHECK(has(temporary, R"(value="temporary" aria-pressed="true")"));
  CHECK(has(temporary, R"(value="peak" aria-pressed="false")"));
  CHECK(has(temporary, ">freed_at_once (has_known_peaks-plain)</div>"));
  CHECK(!has(temporary, ">makes_the_peak"));
  page.replace(page.rfind("</html>"), 7,
               "<script>document.querySelector('button[value=total]').click()</script></html>");
  folder.write("clicked.html", page);
  const std::string total = shown_by_browser(folder, "clicked.html");
  INFO(total);
  CHECK(has(total, R"(value="total" aria-pressed="true")"));
  CHECK(has(total, ">live_after_the_peak (has_known_peaks-plain)</div>"));
}

TEST_CASE("the page of two profiles shows what grew, what shrank and what went") {
  TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& places) {
    folder.write(name,
                 "heap profile: 1: 1 [1: 1] @ heapprofile\n# pktmalloc 0.1.0: a, process 7\n"
                 "# rate 1 lost 0\n# schema 2\n" +
                     places + "\nMAPPED_LIBRARIES:\n# end\n");
  };
  write("before",
        "2: 100 [2: 100] @ 0x1000 0x9000\n# samples 2 2 errors 0 0\n"
        "1: 50 [1: 50] @ 0x3000 0x9000\n# samples 1 1 errors 0 0\n"
        "# peak 1: 70 samples 1 error 0\n");
  write("now",
        "3: 300 [3: 300] @ 0x2000 0x9000\n# samples 3 3 errors 0 0\n"
        "1: 20 [1: 80] @ 0x3000 0x9000\n# samples 1 1 errors 0 0\n");
  REQUIRE(command({"--html", folder / "page.html", folder / "before", folder / "now"}).clean());
  const Outcome outcome = checked_by_python(R"PY(
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
root = json.loads(re.search(r"^const stacks = (.*);$", page, re.M)[1])
views = json.loads(re.search(r"^const views = (.*);", page, re.M)[1])
assert [view[0] for view in views] == ["peak", "live", "total", "temporary"], views
assert re.search(r'^choose\("(\w+)"\)', page, re.M)[1] == "live"
assert re.match(r"\+170 B live, from 150 B in \S+before to 320 B in \S+now\. ", views[1][1]), views
assert re.match(r"-70 B live at the peak, from 70 B in ", views[0][1]), views
found = {}
def walk(node):
    found[node[0]] = [node[at][1] for at in (2, 4, 5)]  # live: now, before, most
    for callee in node[1]:
        walk(callee)
walk(root)
assert found == {"all": [320, 150, 450], "0x9000": [320, 150, 450], "0x1000": [0, 100, 100],
                 "0x2000": [300, 0, 300], "0x3000": [20, 50, 50]}, found
)PY",
                                            {folder / "page.html"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  check_refused(command({"--pprof", folder / "out.pb", folder / "before", folder / "now"}),
                "--pprof writes one profile");
  if (!at_hand("chromium")) return;
  const std::string shown = shown_by_browser(folder, "page.html");
  INFO(shown);
  const auto bar = [&](const std::string& name) {
    const size_t at = shown.find(">" + name + "</div>");
    REQUIRE(at != std::string::npos);
    const size_t begin = shown.rfind("<div", at);
    return shown.substr(begin, at - begin);
  };
  CHECK(has(bar("0x1000"), "--shrunk"));
  CHECK(has(bar("0x2000"), "--grown"));
  CHECK(has(bar("0x3000"), "--shrunk"));
  CHECK(has(bar("0x9000"), "--grown"));
  CHECK(has(shown, "<b>all</b> +170 B, from 150 B to 320 B in 4 objects"));
}

TEST_CASE("pprof gets each as sample types of its own") {
  TemporaryFolder folder;
  make_profile(folder);
  REQUIRE(command({"--pprof", folder / "out.pb", folder / "heap"}).clean());
  std::string known;
  const std::map<std::string, std::string> names = {
      {"--live", "inuse"}, {"--peak", "peak"}, {"--total", "alloc"}, {"--temporary", "temporary"}};
  for (const auto& [view, bytes] : kKnown) {
    for (const auto& [function, amount] : bytes) {
      known +=
          names.at(view) + "_space " + function + " " + std::to_string(std::lround(amount)) + "\n";
    }
  }
  // The fields' numbers are those of profile.proto.
  const Outcome outcome = checked_by_python(
      R"PY(
import sys
def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]; at += 1
        value |= (byte & 127) << shift; shift += 7
        if byte < 128: return value, at
def fields(data):
    found, at = {}, 0
    while at < len(data):
        key, at = number(data, at)
        value, at = number(data, at)
        assert key & 7 in (0, 2)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found.setdefault(key >> 3, []).append(value)
    return found
def numbers(data):
    all, at = [], 0
    while at < len(data):
        value, at = number(data, at)
        all.append(value)
    return all
profile = fields(open(sys.argv[1], "rb").read())
strings = [text.decode() for text in profile[6]]
assert strings[0] == ""
types = [strings[fields(each)[1][0]] for each in profile[1]]
assert types == [of + what for of in ("peak", "inuse", "alloc", "temporary")
                 for what in ("_objects", "_space")], types
assert strings[profile[14][0]] == "peak_space"
functions = {}
for each in profile[5]:
    function = fields(each)
    functions[function[1][0]] = strings[function[2][0]]
locations = {}
for each in profile[4]:
    location = fields(each)
    locations[location[1][0]] = functions[fields(location[4][0])[1][0]]
found = {}
for each in profile[2]:
    sample = fields(each)
    stack = [locations[at] for at in numbers(sample[1][0])]
    values = numbers(sample[2][0])
    assert len(values) == len(types) and stack[-1] in ("_start", "__clone3", "clone3"), stack
    for of, value in zip(types, values):
        for name in set(stack):
            found[of, name] = found.get((of, name), 0) + value
for line in sys.argv[2].splitlines():
    of, name, amount = line.split()
    assert found[of, name] == int(amount), (line, found[of, name])
assert found["temporary_objects", "freed_at_once"] == 2000
)PY",
      {folder / "out.pb", known});
  INFO(outcome);
  CHECK(outcome.status == 0);
  if (!at_hand("pprof")) return;
  const Outcome read = Program({"pprof", "-top", "-unit=B", "-sample_index=temporary_space",
                                "-nodefraction=0", folder / "out.pb"})
                           .with("HOME", folder.path())
                           .run();
  INFO(read);
  CHECK(read.status == 0);
  CHECK(has(read.out, "200000B"));
  CHECK(has(read.out, " freed_at_once"));
}

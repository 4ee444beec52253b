// SPDX-License-Identifier: MIT
// The page of charts and the pictures that are drawn of a benchmark record (tools/bench/page.py).
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include "tests/bench.h"
#include "tests/skip.h"

namespace {

Outcome page(const Words& arguments) {
  Words words = {kPython, "tools/bench/page.py"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return Program(words).run();
}

void need_matplotlib() {
  if (python("import matplotlib").status != 0) skip("matplotlib is not installed");
}

}  // namespace

TEST_CASE("the page needs nothing else, names every id once; there are two pictures") {
  need_matplotlib();
  ScriptedBuild build("echo '{\"ms\": 2}'");
  const std::string record = build / "record.json";
  REQUIRE(bench(build.path(), record).status == 0);
  const Outcome outcome = page({record, "--html", build / "page.html", "--png", build / "png"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  check_python(R"PY(
import os, re, sys
html = open(sys.argv[1], encoding="utf-8").read()
assert html.startswith("<!DOCTYPE html>") and html.endswith("</html>\n")
assert "<svg" in html and html.count("<svg") == html.count("</svg>") and sys.argv[3] in html
for outside in "http", "<script", "<link", "<img", "@import", "src=": assert outside not in html
ids = re.findall(r'\sid="([^"]*)"', html)
assert ids and len(ids) == len(set(ids)), sorted(ids)
targets = re.findall(r'(?:href="|url\()([^")]*)', html)
assert targets and all(target[1:] in ids and target[0] == "#" for target in targets), targets
pictures = sorted(os.listdir(sys.argv[2]))
assert pictures == ["benchmarks-dark.png", "benchmarks-light.png"], pictures
for picture in pictures:
    with open(os.path.join(sys.argv[2], picture), "rb") as file:
        assert file.read().startswith(b"\x89PNG\r\n\x1a\n")
)PY",
               {build / "page.html", build / "png", kRow});
}

TEST_CASE("a page of what is no record is refused in one line") {
  need_matplotlib();
  TemporaryFolder folder;
  folder.write("text.json", "hello\n");
  folder.write("bytes.json", "\xff\xfe");
  folder.write("list.json", "[]\n");
  folder.write("foreign.json", "{\"schema\": 1, \"process\": {}}\n");
  for (const std::string name : {"missing", "text", "bytes", "list", "foreign"}) {
    const std::string record = folder / (name + ".json");
    const Outcome outcome = page({record, "--html", folder / "page.html"});
    INFO(name << ": " << outcome);
    CHECK(outcome.status == 1);
    CHECK(outcome.out.empty());
    CHECK(occurrences(outcome.err, "\n") == 1);
    CHECK(contains(outcome.err, record));
    CHECK(!std::filesystem::exists(folder / "page.html"));
  }
}

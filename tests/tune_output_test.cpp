// SPDX-License-Identifier: MIT
// pktmalloc tune: what it reads and refuses to read, and what it writes.
#include "tests/tune.h"

#include <filesystem>
#include <utility>

TEST_CASE("--packet keeps the packet sizes") {
  const std::vector<Request> requests = {{100, 0, 5, 1000}, {1700, 0, 1, 500}, {20000, 0, 1, 1}};
  CHECK(table_of(tuned(requests, {"--packet", "--classes", "4"})) == Table{112, 1600, 2176, 9216});
  CHECK(table_of(tuned(requests, {"--packet"})) == Table{112, 1600, 1712, 2176, 9216, 20000});
  TemporaryFolder folder;
  folder.write("s.json", recording_of(requests).dump());
  const Outcome outcome = tune({folder / "s.json", "--packet", "--classes", "2"});
  CHECK(outcome.status == 2);
  CHECK(outcome.err == "pktmalloc: --packet keeps 3 classes, and --classes allows 2\n");
}

TEST_CASE("recordings are merged, in any order") {
  TemporaryFolder folder;
  folder.write("a.json", recording_of({{100, 0, 5, 10}, {200, 64, 1, 1}}, "one").dump());
  folder.write("b.json",
               recording_of({{200, 64, 2, 2}, {100, 0, 1, 1}, {50, 0, 3, 3}}, "two").dump());
  const Outcome ab = tune({folder / "a.json", folder / "b.json", "--json"});
  const Outcome ba = tune({"--json", folder / "b.json", folder / "a.json"});
  CHECK(ab.status == 0);
  CHECK(ab.out == ba.out);
  const Json merged = Json::parse(ab.out);
  CHECK(merged.at("calls") == 12);
  CHECK(merged.at("bytes_at_peak") == 100 * 11 + 200 * 3 + 50 * 3);
  CHECK(merged.at("programs") == Json({"one", "two"}));
  CHECK(table_of(merged) == Table{112, 256});
}

TEST_CASE("of several programs each is told what it loses by the common table") {
  TemporaryFolder folder;
  // 600 bytes alone, or 800: a table of one class serves the one by 800.
  folder.write("a.json", recording_of({{600, 0, 2000, 2000}}, "small").dump());
  folder.write("b.json", recording_of({{800, 0, 2000, 2000}}, "large").dump());
  folder.write("c.json", recording_of({{600, 0, 1000, 1000}}, "small").dump());
  const std::vector<std::string> files = {folder / "a.json", folder / "b.json", folder / "c.json"};
  const auto tuned_with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), files.begin(), files.end());
    const Outcome outcome = tune(arguments);
    INFO(outcome);
    REQUIRE(outcome.status == 0);
    return outcome.out;
  };
  const Json json = Json::parse(tuned_with({"--classes", "1", "--json"}));
  REQUIRE(json.at("by_program").size() == 2);
  const Json& large = json.at("by_program")[0];
  const Json& small = json.at("by_program")[1];
  CHECK(large.at("program") == "large");
  CHECK(large.at("tuned_page_bytes") == large.at("own_page_bytes"));
  CHECK(small.at("program") == "small");
  CHECK(small.at("recordings") == 2);
  CHECK(small.at("own_page_bytes") < 3000 * 620);
  CHECK(small.at("tuned_page_bytes") > 3000 * 800);
  const std::string text = tuned_with({"--classes", "1"});
  CHECK(text.find("  small                      2") != std::string::npos);
  CHECK(text.find("  large                      1") != std::string::npos);
  const Json alone = tuned({{600, 0, 2000, 2000}});
  CHECK(alone.at("by_program").size() == 1);
}

TEST_CASE("of several recordings of one process the last counts, in any order") {
  const auto at = [](uint64_t live, int pid, double started) {
    Json json = recording_of({{100, 0, live, live}});
    json["pid"] = pid;
    json["started"] = started;
    return json.dump();
  };
  TemporaryFolder folder;
  folder.write("a1.json", at(10, 7, 1795284118.000001));
  folder.write("a2.json", at(20, 7, 1795284118.000001));
  folder.write("b.json", at(40, 8, 1795284118.000001));
  folder.write("c.json", at(80, 7, 1795284118.000002));                  // of another machine, say
  folder.write("old1.json", recording_of({{100, 0, 160, 160}}).dump());  // of before this key
  folder.write("old2.json", recording_of({{100, 0, 320, 320}}).dump());
  std::vector<std::string> paths = {
      folder / "a1.json",   folder / "a2.json",   folder / "b.json", folder / "c.json",
      folder / "old1.json", folder / "old2.json", "--json"};
  const Outcome outcome = tune(paths);
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  const Json merged = Json::parse(outcome.out);
  CHECK(merged.at("recordings") == 5);
  CHECK(merged.at("earlier_recordings") == 1);
  CHECK(merged.at("calls") == 20 + 40 + 80 + 160 + 320);
  CHECK(merged.at("bytes_at_peak") == 100 * (20 + 40 + 80 + 160 + 320));
  std::swap(paths[0], paths[1]);
  CHECK(tune(paths).out == outcome.out);
  const std::string line = "\nof each process its last file; 1 earlier one left out\n";
  CHECK(tune({paths[0], paths[1]}).out.find(line) != std::string::npos);
  CHECK(tune({paths[0], paths[2]}).out.find("left out") == std::string::npos);
}

TEST_CASE("memory is predicted where objects explain it and another run asks for the same") {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  Json recording = recording_of({{1100, 0, 2000, 2000}});
  recording["usable_sizes"] = 20;
  recording["classes"] = {1216};
  recording["memory_bytes"] = 2 * kMiB + 500'000;
  TemporaryFolder folder;
  const auto with = [&](const char* key, const Json& value) {
    Json changed = recording;
    changed[key] = value;
    folder.write("s.json", changed.dump());
    const Outcome outcome = tune({folder / "s.json", "--json"});
    INFO(outcome);
    REQUIRE(outcome.status == 0);
    return Json::parse(outcome.out);
  };
  const auto unknown = [&](const char* key, const Json& value) {
    const Json tuning = with(key, value);
    CHECK(tuning.at("tuned").at("memory_bytes").is_null());
    return tuning.at("memory_unknown").get<std::string>();
  };
  const Json known = with("pid", 1);
  const uint64_t pages = known.at("tuned").at("page_bytes");
  CHECK(known.at("memory_unknown") == "");
  // 2000 objects of 1216 bytes in slabs of 53: 37 whole ones of 16 pages, and 39 objects.
  const uint64_t pages_before = (37 * 16 + 12) * 4096;
  CHECK(known.at("tuned").at("memory_bytes") == 2 * kMiB + 500'000 + pages - pages_before);
  CHECK(with("memory_bytes", pages_before * 107 / 100).at("memory_unknown") == "");
  CHECK(unknown("memory_bytes", pages_before * 110 / 100).find(" are free objects") !=
        std::string::npos);
  CHECK(unknown("memory_bytes", pages_before * 90 / 100).find(" were never written to") !=
        std::string::npos);
  CHECK(unknown("memory_bytes", 0).find("does not tell") != std::string::npos);
  CHECK(unknown("memory_bytes", kMiB / 2) == "512.0 KiB are too few to tell");
  CHECK(unknown("threads", 2) == "with several threads it differs from run to run");
  CHECK(unknown("missing", 1) == "the recording is not whole");
  CHECK(unknown("usable_sizes", 21).find("asks how much of an object it may use") !=
        std::string::npos);
}

TEST_CASE("a file that is none of sizes is named in one line") {
  TemporaryFolder folder;
  const std::string good = recording_of({{100, 0, 5, 10}}).dump();
  folder.write("good.json", good);
  const auto with = [&](const char* key, const Json& value) {
    Json json = Json::parse(good);
    json.at("sizes").at(0)[key] = value;
    return json.dump();
  };
  Json newer = Json::parse(good);
  newer["schema"] = 2;
  Json overflowing = Json::parse(with("bytes", uint64_t{1} << 40));
  overflowing.at("sizes").at(0)["live_at_peak"] = uint64_t{1} << 40;
  const std::pair<std::string, std::string> bad[] = {
      {"empty", ""},
      {"cut", good.substr(0, good.size() / 2)},
      {"text", "no JSON\n"},
      {"array", "[1, 2]"},
      {"other", "{\"schema\": 1, \"content\": \"tuning\"}"},
      {"classes", good.substr(0, good.size() - 1) +
                      ", \"memory_bytes\": 1, \"usable_sizes\": 0, \"classes\": [32, 16]}"},
      {"start", good.substr(0, good.size() - 1) + ", \"started\": \"now\"}"},
      {"negative", with("bytes", -1)},
      {"fraction", with("calls", 1.5)},
      {"huge", with("live_at_peak", uint64_t{1} << 60)},
      {"overflow", overflowing.dump()},
      {"alignment", with("alignment", 48)},
      {"word", with("bytes", "100")},
  };
  for (const auto& [name, text] : bad) {
    folder.write(name, text);
    const Outcome outcome = tune({folder / "good.json", folder / name});
    INFO(name << ": " << outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == "pktmalloc: " + (folder / name) +
                             " is not a whole file of sizes (PKTMALLOC_SIZES=FILE writes one)\n");
  }
  folder.write("newer", newer.dump());
  CHECK(tune({folder / "newer"}).err ==
        "pktmalloc: " + (folder / "newer") + " has schema 2; this pktmalloc reads schema 1\n");
  CHECK(tune({folder / "absent"}).err ==
        "pktmalloc: cannot read " + (folder / "absent") + ": No such file or directory\n");
  CHECK(tune({folder.path()}).err ==
        "pktmalloc: cannot read " + folder.path() + ": Is a directory\n");
  folder.write("nothing", recording_of({}).dump());
  CHECK(tune({folder / "nothing"}).err ==
        "pktmalloc: nothing was recorded that a class could serve\n");
  for (const std::string classes : {"0", "64", "x", "-1"}) {
    CHECK(tune({folder / "good.json", "--classes", classes}).status == 2);
  }
}

TEST_CASE("--def writes a table that the engine compiles") {
  TemporaryFolder folder;
  REQUIRE(std::filesystem::create_directories(folder / "sizeclass/slabs"));
  folder.write("s.json", recording_of({{100, 0, 5, 10}, {5000, 0, 1, 1}}, "a\nb").dump());
  const std::string def = folder / "sizeclass/slabs/classes.def";
  const Outcome outcome = tune({folder / "s.json", "--def", def});
  INFO(outcome);
  CHECK(outcome.status == 0);
  const std::string text = folder.read("sizeclass/slabs/classes.def");
  CHECK(text.find("\nCLASS(112)\nCLASS(5008)\n") != std::string::npos);
  CHECK(text.find("for a?b.") != std::string::npos);
  const Outcome compiled = Program({"g++", "-std=c++20", "-fsyntax-only", "-I", folder.path(),
                                    "-I.", "sizeclass/slabs/class_table.cpp"})
                               .run();
  INFO(compiled);
  CHECK(compiled.clean());
}

TEST_CASE("--picture draws the histogram with every class of both tables") {
  TemporaryFolder folder;
  const std::vector<Request> requests = {{100, 0, 5, 10}, {5000, 0, 1, 1}, {262144, 0, 1, 1}};
  folder.write("s.json", recording_of(requests, "<&>").dump());
  CHECK(tune({folder / "s.json", "--picture", folder / "p.svg"}).status == 0);
  CHECK(tune({folder / "s.json", "--picture", folder / "p.html"}).status == 0);
  const std::string svg = folder.read("p.svg");
  const Outcome parsed = Program({"/usr/bin/python3", "-c",
                                  "import sys, xml.etree.ElementTree as e\n"
                                  "all = e.parse(sys.argv[1]).getroot().iter()\n"
                                  "print(sum(x.get('class') == 'border' for x in all))",
                                  folder / "p.svg"})
                             .run();
  INFO(parsed);
  CHECK(parsed.out == std::to_string(63 + 3) + "\n");
  const std::string page = folder.read("p.html");
  CHECK(page.find("PKTMALLOC_CLASSES=112,5008,262144") != std::string::npos);
  CHECK(page.find("Size classes for &lt;&amp;&gt;") != std::string::npos);
  CHECK(page.find("<pre class=\"text\">") != std::string::npos);  // a page as the others
  const Outcome wrong = tune({folder / "s.json", "--picture", folder / "p.png"});
  CHECK(wrong.status == 2);
  CHECK(wrong.err ==
        "pktmalloc: --picture " + (folder / "p.png") + ": the name must end in .svg or .html\n");
  CHECK(tune({folder / "s.json", "--picture", "/nonexistent/p.svg"}).err ==
        "pktmalloc: cannot write /nonexistent/p.svg: No such file or directory\n");
}

// SPDX-License-Identifier: MIT
// run --page: a process's whole life on one page, whatever ended it.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/browser.h"
#include "tests/command_page.h"
#include "tests/count.h"
#include "tests/patience.h"
#include "tests/refused.h"
#include "tests/running.h"
#include "tests/temporary_folder.h"

namespace {

const std::string kCommand = build_path("pktmalloc");

Program with_page(const std::vector<std::string>& words, const TemporaryFolder& folder) {
  std::vector<std::string> all = {kCommand, "run", "--page", "life.html", "--rate=1"};
  all.insert(all.end(), words.begin(), words.end());
  return Program(all).in(folder.path()).with("TMPDIR", folder.path());
}

// Nothing but the page is left.
void check_alone(const TemporaryFolder& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK(entry.path().filename() == "life.html");
  }
}

}  // namespace

TEST_CASE("a page has the memory over time and who held it, and nothing else is left or said") {
  TemporaryFolder folder;
  const Outcome outcome = with_page({program_path("ends_as_told"), "exit"}, folder).run();
  INFO(outcome);
  CHECK(outcome.status == 3);
  CHECK(outcome.err ==
        "pktmalloc: memory over time, and who held it: " + folder / "life.html" + "\n");
  check_alone(folder);
  const std::string page = folder.read("life.html");
  CHECK(count(page, "<iframe") == 1);
  CHECK(page.find("hold_some") != std::string::npos);
  check_page(folder / "life.html");
  check_widths(folder / "life.html");
}

TEST_CASE("the flame graph in the page is searched, opened and switched in a browser") {
  if (!installed("chromium")) return leave_out("driving it, for chromium is not installed");
  TemporaryFolder folder;
  with_page({program_path("ends_as_told"), "exit"}, folder).run();
  folder.write("drive.html", R"html(<body><script>
function drive(frame) {
  const graph = frame.contentDocument.querySelector("iframe").contentDocument;
  const told = () => graph.getElementById("told").textContent;
  const search = graph.getElementById("search");
  const results = [];
  search.value = "hold_some";
  search.dispatchEvent(new Event("input"));
  results.push(told());
  search.value = "";
  search.dispatchEvent(new Event("input"));
  const bars = () => [...graph.querySelectorAll("#graph div")];
  bars().find(bar => bar.textContent.startsWith("hold_some")).click();
  results.push(told());
  graph.getElementById("back").click();
  for (const name of ["live", "total", "peak"]) {
    graph.querySelector(`#views button[value=${name}]`).click();
    results.push(graph.getElementById("about").textContent);
  }
  graph.getElementById("leaves").click();
  const leaf = bars().find(bar => bar.textContent.startsWith("hold_some"));
  results.push("leaf at " + leaf.style.top);
  leaf.click();
  results.push(told());
  const caller = bars().find(bar => bar.textContent.startsWith("main"));
  results.push("caller at " + caller.style.top);
  graph.getElementById("leaves").click();
  results.push("again at " + bars().find(bar => bar.textContent.startsWith("main")).style.top);
  document.title = results.join("|");
}
</script><iframe src="life.html" width=400 height=800 onload="drive(this)"></iframe>)html");
  const Outcome outcome = browsed(folder, "drive.html");
  INFO(outcome);
  const std::string title = outcome.out.substr(0, outcome.out.find("</title>"));
  CHECK(title.find("hold_some\" in their name hold 4.8 MiB") != std::string::npos);
  CHECK(title.find("|hold_some") != std::string::npos);
  CHECK(title.find("|4.8 MiB in 1.00 k objects live.") != std::string::npos);
  CHECK(title.find("allocated since start") != std::string::npos);
  CHECK(title.find("live at the peak") != std::string::npos);
  CHECK(title.find("|leaf at 20px|hold_some") != std::string::npos);
  CHECK(title.find(" 4.8 MiB in 1,000 objects") != std::string::npos);
  CHECK(title.find("|caller at 40px|again at ") != std::string::npos);
  CHECK(title.find("|again at 40px") == std::string::npos);
}

TEST_CASE("a page has the types of what was live at the peak") {
  TemporaryFolder folder;
  std::string page;
  // On a busy machine it may take long until it is looked at.
  const auto end = end_of_patience();
  for (useconds_t wait = 200'000; !has(page, "<td>Packet (make_shared)</td>"); wait *= 2) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    Running program({"sh", "-c", "cd \"$1\" && exec \"$2\" run --page life.html \"$3\" wait", "sh",
                     folder.path(), kCommand, program_path("holds_known_types")});
    const std::string pid = program.line("ready ");
    usleep(wait);
    kill(std::stoi(pid), SIGKILL);
    waitpid(program.pid(), nullptr, 0);
    page = folder.read("life.html");
  }
  const std::string types = page.substr(page.find("<h2>What it is</h2>"));
  INFO(types.substr(0, 3000));
  CHECK(has(types, "<td>Packet (make_shared)</td><td>"));
  CHECK(types.find("<td>Packet</td>") < types.find("<td>Both</td>"));
}

TEST_CASE("a program that is killed has its page") {
  for (const std::string how : {"SIGTERM", "SIGSEGV", "SIGKILL"}) {
    TemporaryFolder folder;
    const Outcome outcome = with_page({program_path("ends_as_told"), how}, folder).run();
    INFO(outcome);
    CHECK(outcome.signal == (how == "SIGTERM" ? SIGTERM : how == "SIGSEGV" ? SIGSEGV : SIGKILL));
    CHECK(count(outcome.err, "\n") == 1);
    check_alone(folder);
    CHECK(folder.read("life.html").find("hold_some") != std::string::npos);
  }
}

TEST_CASE("of a script the page is of the program that it became") {
  TemporaryFolder folder;
  const Outcome outcome = with_page({"sh", "-c", "exec perl -e 'print 1'"}, folder).run();
  INFO(outcome);
  CHECK(outcome.out == "1");
  CHECK(folder.read("life.html").find("<title>perl ") != std::string::npos);
}

TEST_CASE("a page that cannot be written, or is one too many, is told before the program starts") {
  TemporaryFolder folder;
  check_refused(Program({kCommand, "run", "--page", "/nowhere/a.html", "true"}).run(), "/nowhere");
  for (const std::string other : {"--stats=a.json", "--profile=a.heap", "--dry-run"}) {
    const Outcome outcome =
        Program({kCommand, "run", "--page=a.html", other, "echo", "ran"}).in(folder.path()).run();
    INFO(outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("the checked library has a page without places, and says nothing of it") {
  for (const std::string& named :
       {std::string("--checked"), "--library=" + build_path("libpktmalloc-checked.so")}) {
    TemporaryFolder folder;
    const Outcome outcome = Program({kCommand, "run", named, "--page", "life.html",
                                     program_path("ends_as_told"), "exit"})
                                .in(folder.path())
                                .run();
    INFO(named << ": " << outcome);
    CHECK(lines(outcome.err).size() == 1);
    CHECK(has(folder.read("life.html"), "ends_as_told"));
  }
}

TEST_CASE("a page of which nothing came leaves nothing") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--dry-run", "true"}, {"--depth=x", "true"}, {"--next=none", "true"}, {"./none"}}) {
    TemporaryFolder folder;
    with_page(words, folder).run();
    INFO(words[0]);
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("report puts a profile into the page of statistics that there are") {
  TemporaryFolder folder;
  Program({kCommand, "run", "--stats=a.json", "--profile=a.heap", "--rate=1",
           program_path("ends_as_told"), "exit"})
      .in(folder.path())
      .run();
  const std::vector<std::string> report = {kCommand, "report", "a.json", "--html", "a.html"};
  std::vector<std::string> both = report;
  both.insert(both.end(), {"--profile", "a.heap"});
  CHECK(Program(both).in(folder.path()).run().status == 0);
  CHECK(folder.read("a.html").find("hold_some") != std::string::npos);
  CHECK(Program(report).in(folder.path()).run().status == 0);
  CHECK(folder.read("a.html").find("<iframe") == std::string::npos);
  check_refused(Program({kCommand, "report", "a.json", "--html", "a.html", "--profile", "a.json"})
                    .in(folder.path())
                    .run(),
                "a.json");
}

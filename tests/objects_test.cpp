// SPDX-License-Identifier: MIT
// `pktmalloc objects`: what it finds live in a running process is what the program made and did not
// free, class by class and type by type; and the process goes on whatever happens.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/killed_looks.h"
#include "tests/patience.h"
#include "tests/program.h"
#include "tests/refused.h"
#include "tests/running.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

using Json = nlohmann::json;

Outcome objects_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {build_path("pktmalloc"), "objects"});
  return Program(arguments).run();
}

// On a busy machine it may take long until all is copied.
const std::string kPause = "60000";

Json seen(const std::vector<std::string>& arguments,
          const std::vector<std::string>& still = {"--pause", kPause}) {
  std::vector<std::string> all = {"--json"};
  all.insert(all.end(), still.begin(), still.end());
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Outcome outcome = objects_of(all);
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.err.empty());
  return Json::parse(outcome.out);
}

Running::Environment preloaded(const std::string& library = library_path()) {
  return {{"LD_PRELOAD", library}};
}

// Objects by type; "" is not known.
std::map<std::string, int> types(const Json& seen) {
  std::map<std::string, int> counts;
  for (const Json& row : seen["types"]) {
    counts[row["type"].is_null() ? "" : row["type"].get<std::string>()] +=
        row["objects"].get<int>();
  }
  return counts;
}

int objects_of_size(const Json& seen, int bytes) {
  for (const Json& row : seen["classes"]) {
    if (row["object_bytes"] == bytes) return row["objects"];
  }
  return 0;
}

void check_known_types(const Json& all) {
  INFO(all);
  CHECK(all["exact"] == true);
  std::map<std::string, int> found = types(all);
  CHECK(found["Packet"] == 1100);
  CHECK(found["Packet (make_shared)"] == 500);
  CHECK(found["int (make_shared)"] == 400);
  CHECK(found["Packet (counts of a shared_ptr)"] == 100);
  CHECK(found["Both"] == 300);
  CHECK(found["Shared"] == 200);
  CHECK(found["(anonymous namespace)::Hidden"] == 600);
  CHECK(found["Holder<std::vector<int, std::allocator<int> > >"] == 50);
  CHECK(found[""] >= 120);
}

const char* const kLibraries[] = {"libpktmalloc.so", "libpktmalloc-hardened.so",
                                  "libpktmalloc-checked.so"};

}  // namespace

TEST_CASE("objects are counted by type, and freed ones are not, wherever they wait") {
  for (const char* library : kLibraries) {
    INFO(library);
    Running program({program_path("holds_known_types"), "wait"}, preloaded(build_path(library)));
    const Json all = seen({program.line("ready ")});
    check_known_types(all);
    CHECK(types(all).count("message") == 0);
    const bool checked = has(library, "checked");  // which makes some objects larger
    CHECK(objects_of_size(all, 1536) == (checked ? 1100 : 1600));
    CHECK(objects_of_size(all, 1600) == (checked ? 500 : 1));
  }
}

TEST_CASE("objects that a heap profile samples have their types, too") {
  Running::Environment environment = preloaded();
  environment["PKTMALLOC_PROFILE_LEAKS"] = "1";  // all of them
  Running program({program_path("holds_known_types"), "wait"}, environment);
  const Json all = seen({program.line("ready ")});
  check_known_types(all);
  CHECK(objects_of_size(all, 1536) == 1600);
}

TEST_CASE("with a heap profile objects are told by place, also what grew") {
  Running::Environment environment = preloaded();
  environment["PKTMALLOC_PROFILE_LEAKS"] = "1";
  Running program({program_path("holds_known_types"), "grows"}, environment);
  const std::string pid = program.line("ready ");
  const auto place = [](const Json& all, const std::string& type, const std::string& call) {
    for (const Json& row : all["places"]) {
      const bool is_type = type.empty() ? row["type"].is_null() : row["type"] == type;
      if (is_type && has(row["calls"][0], call)) return row;
    }
    return Json::object();
  };
  const Json all = seen({pid});
  INFO(all["places"]);
  const Json both = place(all, "Both", "make<Both>");
  CHECK(both["objects"] == 300);
  CHECK(both["bytes"] == 300 * 232);
  CHECK(has(both["calls"][1], "main at holds_known_types.cpp:"));
  CHECK(place(all, "", "make<Plain>")["objects"] == 70);
  CHECK(place(all, "Packet", "make<Packet>")["objects"] == 1000);
  CHECK(has(objects_of({pid}).out, "samples of the heap profile:\n\n       OBJECTS"));

  std::atomic<bool> over{false};
  std::thread grower([&] {
    while (!over) {
      program.send(SIGUSR1);
      usleep(20'000);
    }
  });
  Json grown;
  do {
    grown = seen({"--diff", "0.1", pid})["places"][0];
  } while (grown["grown_objects"] == 0);
  over = true;
  grower.join();
  CHECK(grown["type"] == "Packet");
  CHECK(grown["grown_objects"] > 0);
  CHECK(grown["grown_bytes"] > 0);
  CHECK(grown["calls"] != place(all, "Packet", "make<Packet>")["calls"]);
}

TEST_CASE("types are told of programs that hold the library, or are stripped") {
  for (const std::string way : {"shared", "static"}) {
    INFO(way);
    Running program({program_path("holds_known_types", way), "wait"});
    check_known_types(seen({program.line("ready ")}));
  }
  TemporaryFolder folder;
  const std::string copy = folder / "a program";
  std::filesystem::copy_file(program_path("holds_known_types"), copy);
  REQUIRE(Program({"strip", copy}).run().clean());
  Running program({copy, "wait"}, preloaded());
  check_known_types(seen({program.line("ready ")}));
}

TEST_CASE("what is live by class is what the process says of itself") {
  for (const char* library : {"libpktmalloc.so", "libpktmalloc-hardened.so"}) {
    for (const std::string mode : {"holds", "forks", "ends"}) {
      TemporaryFolder folder;
      INFO(library << " " << mode);
      Running program({program_path("is_read_from_outside"), mode, folder / "inside.json", "40"},
                      preloaded(build_path(library)));
      const Json all = seen({program.line("ready ")});
      CHECK(all["exact"] == true);
      std::map<int, int> inside;
      const Json told = Json::parse(folder.read("inside.json"));
      for (const Json& row : told["classes"]) {
        if (row["live"] != 0) inside[row["bytes"]] = row["live"];
      }
      std::map<int, int> outside;
      for (const Json& row : all["classes"]) outside[row["object_bytes"]] = row["objects"];
      // In the hardened library some wait before they go back to a list.
      if (std::string(library) == "libpktmalloc.so") {
        CHECK(outside == inside);
      } else {
        for (const auto& [bytes, objects] : outside) CHECK(objects <= inside[bytes]);
      }
    }
  }
}

TEST_CASE("samples of a heap profile are among the objects of their class") {
  TemporaryFolder folder;
  Running::Environment environment = preloaded();
  environment["PKTMALLOC_PROFILE"] = "/dev/null";
  environment["PKTMALLOC_PROFILE_RATE"] = "4KiB";
  Running program({program_path("holds_known_types"), "wait"}, environment);
  const Json all = seen({program.line("ready ")});
  CHECK(objects_of_size(all, 1536) == 1600);
}

TEST_CASE("objects that wait in slabs that were populated in advance do not count") {
  Running::Environment environment = preloaded();
  environment["PKTMALLOC_RESERVE"] = "1536:5000,2048:300";
  Running program({program_path("holds_known_types"), "wait"}, environment);
  const Json all = seen({program.line("ready ")});
  check_known_types(all);
  CHECK(objects_of_size(all, 1536) == 1600);
  CHECK(objects_of_size(all, 2048) < 10);
}

TEST_CASE("a process that works is seen while it stands still, and while it runs on") {
  TemporaryFolder folder;
  Running program({program_path("is_read_from_outside"), "works", folder / "inside.json", "2"},
                  preloaded());
  const std::string pid = program.line("ready ");
  for (int i = 0; i < 5; ++i) {
    const Json still = seen({pid});
    INFO(still);
    CHECK(still["exact"] == true);
    CHECK(still["allocated_meanwhile"] == 0);
    // 256 slots that it exchanges objects through; what threads hold in hands is one each.
    int objects = 0;
    for (const Json& row : still["classes"]) {
      const int bytes = row["object_bytes"];
      for (const int size : {32, 64, 112, 640, 1536, 5120})
        objects += bytes == size ? row["objects"].get<int>() : 0;
    }
    CHECK(objects >= 200);
    CHECK(objects <= 256 + 2 + 60);
    const Json running = seen({pid}, {"--running"});
    CHECK(running["exact"] == false);
    CHECK(running["stopped_ms"] == 0);
  }
  const Outcome text = objects_of({"--running", pid});
  INFO(text);
  CHECK(has(text.out, "it ran on for the "));
  CHECK(waitpid(program.pid(), nullptr, WNOHANG) == 0);
}

TEST_CASE("a process that may not stand still for so long is seen as it runs") {
  Running program({program_path("holds_known_types"), "wait"}, preloaded());
  const Json all = seen({program.line("ready ")}, {"--pause", "0"});
  CHECK(all["exact"] == false);
  CHECK(types(all)["Packet"] == 1100);  // it does nothing
}

TEST_CASE("--diff tells what grew between two looks") {
  Running program({program_path("holds_known_types"), "grows"}, preloaded());
  const std::string pid = program.line("ready ");
  std::atomic<bool> over{false};
  std::thread grower([&] {
    while (!over) {
      program.send(SIGUSR1);
      usleep(20'000);
    }
  });
  // On a busy machine it may not come to grow between two looks.
  const auto end = end_of_patience();
  Outcome outcome;
  Json first = Json::object();
  while (!has(outcome.out, "Packet") && std::chrono::steady_clock::now() < end) {
    outcome = objects_of({"--diff", "0.1", pid});
  }
  while (first.value("grown_objects", 0) == 0 && std::chrono::steady_clock::now() < end) {
    first = seen({"--diff", "0.1", pid})["types"][0];
  }
  over = true;
  grower.join();
  INFO(outcome);
  CHECK(outcome.status == 0);
  const std::vector<std::string> told = lines(outcome.out);
  const auto head = std::find_if(told.begin(), told.end(),
                                 [](const std::string& line) { return has(line, "TYPE"); });
  REQUIRE(head < told.end() - 1);
  CHECK(has(*head, "GROWN BY"));
  CHECK(has(*(head + 1), "Packet"));
  CHECK(first["type"] == "Packet");
  CHECK(first["grown_objects"] > 0);
  CHECK(!has(outcome.out, "Both"));  // as many as before
}

TEST_CASE("contents are shown only when asked for") {
  Running program({program_path("holds_known_types"), "wait"}, preloaded());
  const std::string pid = program.line("ready ");
  CHECK(!has(objects_of({"--all", pid}).out, "quick"));
  const Outcome text = objects_of({"--contents", pid});
  INFO(text);
  CHECK(has(text.out, "3072  text, for instance \"the quick brown fox\""));
}

TEST_CASE("calls are named by the file that runs, not by one of that name elsewhere") {
  if (Program({"unshare", "--mount", "true"}).run().status != 0) {
    skip("no mount namespace of its own is to be had");
  }
  TemporaryFolder folder;
  folder.write("program", "not this one");
  Running program({"unshare", "--mount", "sh", "-c",
                   "mount --bind \"$1\" \"$2\" && PKTMALLOC_PROFILE_LEAKS=1 LD_PRELOAD=$3 exec "
                   "\"$2\" wait",
                   "sh", program_path("holds_known_types"), folder / "program", library_path()});
  const Outcome outcome = objects_of({program.line("ready ")});
  INFO(outcome);
  CHECK(has(outcome.out, "make<Packet>"));
}

TEST_CASE("calls are named with fewer open files than the process has mappings of one") {
  Running program({program_path("holds_known_types"), "maps"},
                  {{"LD_PRELOAD", library_path()}, {"PKTMALLOC_PROFILE_LEAKS", "1"}});
  const std::string command = build_path("pktmalloc") + " objects " + program.line("ready ");
  const Outcome outcome = Program({"sh", "-c", "ulimit -n 60 && exec " + command}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, " main at holds_known_types.cpp:"));
}

TEST_CASE("a stopped process stays stopped, and a killed command leaves the process running") {
  Running program({program_path("holds_known_types"), "grows"}, preloaded());
  const std::string pid = program.line("ready ");
  program.send(SIGSTOP);
  siginfo_t stopped{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(program.pid()), &stopped, WSTOPPED | WNOWAIT) == 0);
  check_known_types(seen({pid}));
  int status = 0;
  CHECK(waitpid(program.pid(), &status, WUNTRACED | WNOHANG) == program.pid());
  CHECK(WIFSTOPPED(status));
  program.send(SIGCONT);
  kill_looks("objects", pid, 40'000, 2'000);
  program.send(SIGUSR1);
  program.line("grown");
}

// The signal to stop may come while the process is looked at.
TEST_CASE("a process goes on after SIGCONT, however short before a look it was stopped") {
  Running program({program_path("holds_known_types"), "grows"}, preloaded());
  const std::string pid = program.line("ready ");
  for (int i = 0; i < 30; ++i) {
    std::thread stopper([&] {
      usleep(static_cast<useconds_t>(i * 200));
      program.send(SIGSTOP);
    });
    objects_of({pid});
    stopper.join();
    program.send(SIGCONT);
  }
  program.send(SIGUSR1);
  CHECK(program.line("grown").empty());
}

TEST_CASE("what cannot be seen is told in one line") {
  check_refused(objects_of({"never"}),
                "never is neither a process id nor a core file: No such file");
  check_refused(objects_of({"README.md"}), "README.md is no core file");
  check_refused(objects_of({program_path("hello")}), "is no core file");
  check_refused(objects_of({"4194305"}), "there is no process 4194305");
  Running alone({"sleep", "1000"});
  check_refused(objects_of({std::to_string(alone.pid())}), "does not use pktmalloc");
  check_refused(objects_of({"--sort", "grown", std::to_string(alone.pid())}), "needs --diff");
  Running program({program_path("holds_known_types"), "wait"}, preloaded());
  const std::string pid = program.line("ready ");
  program.send(SIGKILL);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(program.pid()), &info, WEXITED | WNOWAIT) == 0);
  check_refused(objects_of({pid}), "has ended; its parent has not asked for its status yet");
}

// Those that a debugger and the system write, without other files: of a program that waits.
std::vector<std::string> core_files(const TemporaryFolder& folder) {
  std::vector<std::string> cores;
  Running program({"sh", "-c", "ulimit -c unlimited; cd \"$1\" && exec \"$2\" wait", "sh",
                   folder.path(), program_path("holds_known_types")},
                  preloaded());
  const std::string pid = program.line("ready ");
  if (at_hand("gcore")) {
    Program({"gcore", "-o", folder / "debugger", pid}).run();
    cores.push_back(folder / ("debugger." + pid));
  }
  std::ifstream pattern_file("/proc/sys/kernel/core_pattern");
  std::string pattern;
  pattern_file >> pattern;
  program.send(SIGABRT);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(program.pid()), &info, WEXITED | WNOWAIT) == 0);
  const auto files = std::filesystem::directory_iterator(folder.path());
  for (const auto& file : files) {
    if (file.path().filename().string().starts_with("core")) cores.push_back(file.path());
  }
  if (pattern != "core") leave_out("the system writes core files elsewhere");
  return cores;
}

TEST_CASE("a core file is seen as the process was") {
  TemporaryFolder folder;
  for (const std::string& core : core_files(folder)) {
    INFO(core);
    check_known_types(seen({core}));
    check_refused(objects_of({"--diff", "1", core}), "a core file does not grow");
    // Whatever of it is missing.
    for (const uintmax_t bytes : {uintmax_t{1} << 20, uintmax_t{5000}, uintmax_t{100}}) {
      std::filesystem::resize_file(core, bytes);
      check_refused(objects_of({core}), core + " is truncated");
    }
    std::filesystem::resize_file(core, 10);
    check_refused(objects_of({core}), core + " is no core file");
  }
}

TEST_CASE("Python's objects are told by their types") {
  skip_without({"python3"});
  Running::Environment environment = preloaded();
  environment["PYTHONMALLOC"] = "malloc";
  const char* const script = R"(
import time
class Packet: pass
class Slotted: __slots__ = ("a",)
packets = [Packet() for _ in range(1234)]
slotted = [Slotted() for _ in range(432)]
print("ready", flush=True)
time.sleep(1000)
)";
  Running program({"python3", "-c", script}, environment);
  program.line("ready");
  std::map<std::string, int> found = types(seen({std::to_string(program.pid())}));
  CHECK(found["Packet (Python)"] == 1234);
  CHECK(found["Slotted (Python)"] == 432);
  CHECK(found["str (Python)"] > 1000);
}

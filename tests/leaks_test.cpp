// SPDX-License-Identifier: MIT
// `pktmalloc leaks`: what a program lost is found, and what it can reach in any way is not.
#include <catch2/catch.hpp>

#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/diagnosis.h"
#include "tests/killed_looks.h"
#include "tests/patience.h"
#include "tests/program.h"
#include "tests/refused.h"
#include "tests/running.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

Outcome leaks_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {build_path("pktmalloc"), "leaks"});
  return Program(arguments).run();
}

// Objects that nothing points to, with those that hang from them: "10 + 0", by type.
using LostByType = std::map<std::string, std::string>;

LostByType lost(const std::string& what) {
  const Outcome outcome = leaks_of({"--json", what});
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.err.empty());
  const Json all = Json::parse(outcome.out);
  CHECK(all["exact"] == true);
  LostByType types;
  int sum = 0;
  for (const Json& row : all["lost"]) {
    const std::string type = row["type"].is_null() ? "" : row["type"].get<std::string>();
    const int objects = row["objects"], with_them = row["objects_with_them"];
    types[type] = std::to_string(objects) + " + " + std::to_string(with_them);
    sum += objects + with_them;
  }
  CHECK(all["lost_objects"] == sum);
  return types;
}

const LostByType kKnown = {{"", "1 + 0"},           {"Lost", "10 + 0"},  {"Head", "1 + 7"},
                           {"Ring", "2 + 4"},       {"Hidden", "2 + 0"}, {"InFreed", "3 + 0"},
                           {"OnOldStack", "1 + 0"}, {"Tagged", "2 + 0"}, {"InEnded", "2 + 0"},
                           {"Before", "1 + 0"},     {"PastEnd", "5 + 0"}};

// Has it become the program, and not ended at once?
bool runs(const Running& program) {
  usleep(100'000);
  return waitpid(program.pid(), nullptr, WNOHANG) == 0;
}

Running::Environment preloaded(const std::string& library) {
  return {{"LD_PRELOAD", build_path(library)}};
}

}  // namespace

TEST_CASE("lost objects are found, and those that are reached in any way are not") {
  for (const char* library :
       {"libpktmalloc.so", "libpktmalloc-hardened.so", "libpktmalloc-checked.so"}) {
    INFO(library);
    Running program({program_path("loses_known_objects"), "wait"}, preloaded(library));
    LostByType known = kKnown;
    // Its objects have no neighbours: headers lie between.
    if (std::string(library) == "libpktmalloc-checked.so") {
      known.erase("Before");
      known.erase("PastEnd");
    }
    CHECK(lost(program.line("ready ")) == known);
  }
  for (const std::string way : {"shared", "static"}) {
    INFO(way);
    Running program({program_path("loses_known_objects", way), "wait"});
    CHECK(lost(program.line("ready ")) == kKnown);
  }
}

TEST_CASE("lost objects are told with an example, the most bytes first") {
  Running program({program_path("loses_known_objects"), "wait"}, preloaded("libpktmalloc.so"));
  const Outcome outcome = leaks_of({program.line("ready ")});
  INFO(outcome);
  CHECK(outcome.status == 0);
  const std::vector<std::string> told = lines(outcome.out);
  REQUIRE(told.size() >= 17);
  CHECK(has(told[1], "41 objects are lost, 15.2 KiB; "));
  CHECK(has(told[1], " only perhaps"));
  CHECK(has(told[3], "LOST"));
  CHECK(has(told[4], "1024  PastEnd, for instance at 0x"));
  CHECK(has(told[5], " 5 in use if a pointer to the next object is to their end"));
  CHECK(has(told[6], "5120  -, for instance at 0x"));
  CHECK(has(told[7], "2048  Before, for instance at 0x"));
  CHECK(has(told[8], " 1 in use if a pointer to the next object is to their end"));
  CHECK(has(told[9], "96  Lost, for instance at 0x"));
}

TEST_CASE("a program that loses nothing is told so") {
  Running program({program_path("holds_known_types"), "wait"}, preloaded("libpktmalloc.so"));
  const Outcome outcome = leaks_of({program.line("ready ")});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.out, "\nnothing is lost\n"));
}

TEST_CASE("with a heap profile lost objects are told by place, also in a core file") {
  skip_without({"gcore"});
  TemporaryFolder folder;
  Running::Environment environment = preloaded("libpktmalloc.so");
  environment["PKTMALLOC_PROFILE_LEAKS"] = "1";
  Running program({program_path("loses_known_objects"), "wait"}, environment);
  const std::string pid = program.line("ready ");
  Program({"gcore", "-o", folder / "core", pid}).run();
  for (const std::string& what : {pid, folder / ("core." + pid)}) {
    const Outcome outcome = leaks_of({"--json", what});
    INFO(outcome);
    std::map<std::string, int> sizes;  // of what is lost by lose()
    const Json all = Json::parse(outcome.out);
    for (const Json& row : all["lost"]) {
      if (row["type"] == "Kept") FAIL("what is kept is not lost");
      const std::string call = row.value("calls", Json::array({""}))[0];
      if (call.starts_with("lose() at loses_known_objects.cpp:")) {
        sizes[row["type"].is_null() ? "" : row["type"].get<std::string>()] +=
            row["objects"].get<int>();
      }
    }
    CHECK(sizes["Lost"] == 10);
    CHECK(sizes["Ring"] == 2);
    CHECK(sizes["Head"] == 1);
  }
}

// Where a process maps memory that it may write to.
template <typename Visit>
void each_written_mapping(const std::string& pid, Visit visit) {
  std::ifstream maps("/proc/" + pid + "/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char rights[5] = "";
    if (sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
    if (rights[0] == 'r' && rights[1] == 'w') visit(begin, end);
  }
}

TEST_CASE("records that the process has damaged lead nowhere") {
  Running program({program_path("loses_known_objects"), "wait"},
                  preloaded("libpktmalloc-checked.so"));
  const std::string pid = program.line("ready ");
  const int memory = open(("/proc/" + pid + "/mem").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(memory >= 0);
  int changed = 0;
  each_written_mapping(pid, [&](unsigned long begin, unsigned long end) {
    std::vector<uint64_t> words(512);
    for (; begin < end; begin += 4096) {
      if (pread(memory, words.data(), 4096, static_cast<off_t>(begin)) != 4096) continue;
      for (size_t i = 0; i < words.size(); ++i) {
        // The live text of 5000 bytes: an alignment of 1 GiB.
        if (words[i] >> 24 != 5000 || (words[i] >> 18 & 63) != 0 || (words[i] & 3) != 1) continue;
        const uint64_t word = words[i] | uint64_t{31} << 18;
        pwrite(memory, &word, sizeof word, static_cast<off_t>(begin + i * sizeof word));
        ++changed;
      }
    }
  });
  close(memory);
  CHECK(changed > 0);
  for (const char* subcommand : {"leaks", "objects"}) {
    const Outcome outcome =
        Program({build_path("pktmalloc"), subcommand, "--contents", "--all", pid}).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.out, "Lost"));
  }
}

TEST_CASE("what threads have in hands while they work is not lost") {
  TemporaryFolder folder;
  Running program({program_path("is_read_from_outside"), "works", folder / "-", "2"},
                  preloaded("libpktmalloc.so"));
  const std::string pid = program.line("ready ");
  for (int i = 0; i < 10; ++i) {
    const Json all = Json::parse(leaks_of({"--json", pid}).out);
    INFO(all);
    CHECK(all["lost_objects"] <= 3);  // that its short-lived thread really loses
    for (const Json& row : all["lost"]) CHECK(row["object_bytes"] == 640);
  }
}

TEST_CASE("the process waits on as if nobody had looked at it") {
  Running program({program_path("waits_undisturbed"), "wait"}, preloaded("libpktmalloc.so"));
  const std::string pid = program.line("ready ");
  for (int i = 0; i < 10; ++i) {
    const Outcome outcome = leaks_of({pid});
    INFO(outcome);
    CHECK(has(outcome.out, "\nnothing is lost\n"));
    CHECK(Program({build_path("pktmalloc"), "objects", pid}).run().status == 0);
  }
  program.send(SIGUSR1);
  program.line("undisturbed");
}

TEST_CASE("a killed command leaves nothing of itself, and the process running") {
  Running program({program_path("waits_undisturbed"), "wait"}, preloaded("libpktmalloc.so"));
  const std::string pid = program.line("ready ");
  kill_looks("leaks", pid, 30'000, 1'000);
  // What it leaves behind sees to that.
  const auto end = end_of_patience();
  const auto is_alone = [&] { return Program({"ps", "--ppid", pid}).run().status != 0; };
  Outcome outcome = leaks_of({pid});
  while ((has(outcome.err, "debugger") || !is_alone()) && std::chrono::steady_clock::now() < end) {
    outcome = leaks_of({pid});
  }
  INFO(outcome);
  CHECK(has(outcome.out, "\nnothing is lost\n"));
  program.send(SIGUSR1);
  program.line("undisturbed");
}

TEST_CASE("a process is looked at whose main thread has ended") {
  Running program({program_path("loses_known_objects"), "wait", "alone"},
                  preloaded("libpktmalloc.so"));
  LostByType known = kKnown;
  known.erase("OnOldStack");  // nobody knows where its stack ended
  CHECK(lost(program.line("ready ")) == known);
}

// So that a filter of system calls does not end the process.
TEST_CASE("a process whose system calls are filtered is looked at without one") {
  skip_without({"python3"});
  const char* const script = R"(
import ctypes, struct, time
libc = ctypes.CDLL(None)
code = struct.pack("HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, 56, 0x6, 0, 0, 0x80000000, 0x6, 0, 0, 0x7fff0000)
filter = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(filter)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
print("ready", flush=True)
time.sleep(1000)
)";
  Running program({"python3", "-c", script}, preloaded("libpktmalloc.so"));
  program.line("ready");
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = leaks_of({std::to_string(program.pid())});
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.out, "it stood still for"));
  }
}

// Once the copy is there that is read, which is to be forgotten in the end.
TEST_CASE("a process may become another program, or filter its calls, while it is looked at") {
  skip_without({"python3", "ps"});
  const char* const script = R"(
import ctypes, os, signal, struct, sys, time
def become(*unused): os.execvp("sleep", ["sleep", "1000"])
def filter(*unused):
  code = struct.pack("HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, 61, 0x6, 0, 0, 0x80000000, 0x6, 0, 0, 0x7fff0000)
  rules = ctypes.create_string_buffer(code)
  program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(rules)))
  assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
libc = ctypes.CDLL(None)
objects = [[i] for i in range(1000000)]
signal.signal(signal.SIGUSR1, globals()[sys.argv[1]])
print("ready", flush=True)
while True: time.sleep(1000)
)";
  for (const std::string way : {"become", "filter"}) {
    Running::Environment environment = preloaded("libpktmalloc.so");
    environment["PYTHONMALLOC"] = "malloc";
    Running program({"python3", "-c", script, way}, environment);
    program.line("ready");
    const std::string pid = std::to_string(program.pid());
    const auto is_alone = [&] { return Program({"ps", "--ppid", pid}).run().status != 0; };
    const auto end = end_of_patience();
    std::thread changer([&] {
      while (is_alone() && std::chrono::steady_clock::now() < end) usleep(1000);
      program.send(SIGUSR1);
    });
    const Outcome outcome = leaks_of({pid});
    changer.join();
    INFO(way << ": " << outcome);
    if (way == "become") {
      check_refused(outcome, "process " + pid + " became another program");
      CHECK(is_alone());
    } else {
      CHECK(outcome.status == 0);
    }
    CHECK(runs(program));
  }
}

TEST_CASE("what is lost in a core file is what was lost in the process") {
  skip_without({"gcore"});
  TemporaryFolder folder;
  Running program({program_path("loses_known_objects"), "wait"}, preloaded("libpktmalloc.so"));
  const std::string pid = program.line("ready ");
  Program({"gcore", "-o", folder / "core", pid}).run();
  CHECK(lost(folder / ("core." + pid)) == kKnown);
}

// Sizes that nothing has, and the last of all addresses, of what is of no interest: the kernel's.
TEST_CASE("damaged headers of a core file do not have memory searched that is nowhere") {
  skip_without({"gcore"});
  TemporaryFolder folder;
  Running program({program_path("loses_known_objects"), "wait"}, preloaded("libpktmalloc.so"));
  const std::string pid = program.line("ready ");
  Program({"gcore", "-o", folder / "core", pid}).run();
  const std::string core = folder / ("core." + pid);
  std::fstream file(core, std::ios::in | std::ios::out | std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  const auto bytes = static_cast<std::streamsize>(segments.size() * sizeof(Elf64_Phdr));
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  REQUIRE(file.read(reinterpret_cast<char*>(segments.data()), bytes));
  Elf64_Phdr* last = nullptr;
  for (Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    if ((segment.p_flags & PF_W) != 0) {
      segment.p_memsz = uint64_t{1} << 46;
    } else {
      last = &segment;
    }
  }
  REQUIRE(last != nullptr);
  last->p_flags |= PF_W;
  last->p_vaddr = ~uint64_t{0} - last->p_memsz;
  file.seekp(static_cast<std::streamoff>(header.e_phoff));
  REQUIRE(file.write(reinterpret_cast<const char*>(segments.data()), bytes));
  file.close();
  CHECK(lost(core) == kKnown);
}

TEST_CASE("contents of lost objects are shown only when asked for") {
  Running program({program_path("loses_known_objects"), "wait"}, preloaded("libpktmalloc.so"));
  const std::string pid = program.line("ready ");
  CHECK(!has(leaks_of({"--all", pid}).out, "quick"));
  const Outcome outcome = leaks_of({"--all", "--contents", pid});
  INFO(outcome);
  CHECK(has(outcome.out, ": \"the quick brown fox\"\n"));
}

TEST_CASE("a process that ends while it is looked at is told in one line") {
  for (const std::string subcommand : {"objects", "leaks"}) {
    for (int after_us = 0; after_us < 20'000; after_us += 1'000) {
      Running program({program_path("waits_undisturbed"), "wait"}, preloaded("libpktmalloc.so"));
      const std::string pid = program.line("ready ");
      std::thread killer([&] {
        usleep(static_cast<useconds_t>(after_us));
        program.send(SIGKILL);
      });
      const Outcome outcome = Program({build_path("pktmalloc"), subcommand, pid}).run();
      killer.join();
      INFO(subcommand << " " << pid << ", " << after_us << " us: " << outcome);
      if (outcome.status != 0) check_refused(outcome, "process " + pid);
    }
  }
}

// Without the library, and of another machine's kind; also in a core file.
TEST_CASE("neither objects nor leaks are looked for where the library is not") {
  TemporaryFolder folder;
  std::vector<std::string> all;
  Running alone({"sleep", "1000"});
  const std::string pid = std::to_string(alone.pid());
  all.push_back(pid);
  if (at_hand("gcore")) {
    Program({"gcore", "-o", folder / "core", pid}).run();
    all.push_back(folder / ("core." + pid));
  }
  folder.write("pause.s", ".globl _start\n_start: mov $29, %eax\n int $0x80\n jmp _start\n");
  const Outcome built =
      Program({"gcc", "-m32", "-nostdlib", "-static", folder / "pause.s", "-o", folder / "pause"})
          .run();
  Running other({built.status == 0 ? folder / "pause" : "true"});
  if (built.status == 0 && runs(other)) {
    all.push_back(std::to_string(other.pid()));
  } else {
    leave_out("programs of 32 bits do not run here");
  }
  for (const std::string& what : all) {
    for (const std::string subcommand : {"objects", "leaks"}) {
      check_refused(Program({build_path("pktmalloc"), subcommand, what}).run(),
                    "does not use pktmalloc");
    }
  }
}

// What objects could do all the same is said by objects only.
void check_not_stopped(const Running& program, const std::string& why) {
  const std::string pid = std::to_string(program.pid());
  const std::string text = "process " + pid + why;
  check_refused(leaks_of({pid}), text + "\n");
  const std::string command = build_path("pktmalloc");
  const std::string pause = "10000";  // it is to be stopped, however long copying takes
  check_refused(Program({command, "objects", "--pause", pause, pid}).run(),
                text + "; see it as it runs: --running");
  const Outcome outcome = Program({command, "objects", "--running", pid}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
}

TEST_CASE("a process that cannot be stopped is said not to stop, and why") {
  {
    Running program({program_path("holds_known_types"), "wait"}, preloaded("libpktmalloc.so"));
    program.line("ready ");
    REQUIRE(ptrace(PTRACE_SEIZE, program.pid(), nullptr, nullptr) == 0);
    check_not_stopped(program, " has a debugger, or another pktmalloc looks at it");
  }
  TemporaryFolder folder;
  constexpr const char* kWaits =
      "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
      "int main(void) { free(malloc(100)); puts(\"ready\"); fflush(stdout);\n"
      "  if (vfork() == 0) { pause(); _exit(0); } }\n";
  if (!compile(folder, kWaits, "", "waits")) return;
  Running program({folder / "waits"}, preloaded("libpktmalloc.so"));
  program.line("ready");
  usleep(100'000);
  check_not_stopped(program, " cannot be stopped now: it waits for a disk or a child of vfork");
}

TEST_CASE("neither objects nor leaks are told of other users' processes") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv"});
  TemporaryFolder folder;
  const std::string copy = folder / "pktmalloc";
  std::filesystem::copy_file(build_path("pktmalloc"), copy);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  Running program({program_path("holds_known_types"), "wait"}, preloaded("libpktmalloc.so"));
  const std::string pid = program.line("ready ");
  for (const std::string subcommand : {"objects", "leaks"}) {
    check_refused(Program({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy,
                           subcommand, pid})
                      .run(),
                  "process " + pid);
  }
}

TEST_CASE("leaks of what cannot be seen are told in one line") {
  check_refused(leaks_of({"never"}), "never is neither a process id nor a core file");
  check_refused(leaks_of({"4194305"}), "there is no process 4194305");
  Running alone({"sleep", "1000"});
  check_refused(leaks_of({std::to_string(alone.pid())}), "does not use pktmalloc");
}

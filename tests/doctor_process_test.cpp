// SPDX-License-Identifier: MIT
// pktmalloc doctor PID: the real command looks at real processes.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/diagnosis.h"
#include "tests/patience.h"
#include "tests/running.h"
#include "tests/skip.h"

namespace {

using Words = std::vector<std::string>;

// Looks again until it is well: the process may be about to start.
Diagnosis settled(const Running& process) {
  const auto end = end_of_patience();
  for (;;) {
    Diagnosis report(doctor(std::to_string(process.pid())));
    if (report.outcome.status == 0 || std::chrono::steady_clock::now() > end) return report;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

TEST_CASE("a running program with the library is well") {
  TemporaryFolder folder;
  const std::string run = build_path("pktmalloc");
  std::vector<Words> programs = {{run, "run", "sleep", "600"},
                                 {run, "run", "--checked", "sleep", "600"}};
  if (at_hand("redis-server")) {
    programs.push_back({run, "run", "redis-server", "--port", "0", "--save", "", "--unixsocket",
                        folder / "socket"});
  }
  REQUIRE(compile(
      folder, kWaiting,
      "-L" + build_path("") + " -Wl,--no-as-needed -lpktmalloc -Wl,-rpath," + build_path(""),
      "shared"));
  REQUIRE(compile(folder, kWaiting,
                  "-Wl,--whole-archive " + build_path("libpktmalloc.a") + " -Wl,--no-whole-archive",
                  "linked"));
  programs.push_back({folder / "shared"});
  programs.push_back({folder / "linked"});
  programs.push_back({"env", "LD_PRELOAD=./" PKTMALLOC_BUILD "/libpktmalloc.so", "sleep", "600"});
  for (const Words& words : programs) {
    Running process(words);
    const Diagnosis report = settled(process);
    INFO(words.back() << ": " << report);
    REQUIRE(report.outcome.status == 0);
    CHECK(report.consistent());
    CHECK(report.level("serving") == "ok");
    CHECK(report.level("malloc") == "ok");
    CHECK(report.says("It serves: "));
    CHECK(!report.says(" of 63 classes"));  // so many there are; these programs use fewer
  }
}

TEST_CASE("a running program without the library, or behind another allocator") {
  TemporaryFolder folder;
  REQUIRE(compile(folder, kWaiting, "", "waiting"));
  Running without({folder / "waiting"});
  without.line("ready");
  const Diagnosis missing(doctor(std::to_string(without.pid())));
  INFO(missing);
  CHECK(missing.consistent());
  CHECK(missing.level("library") == "problem");
  CHECK(missing.says("pktmalloc run CMD"));

  if (compile(folder, kWaiting, "-static", "static")) {
    Running named({folder / "static"}, {{"LD_PRELOAD", library_path()}});
    named.line("ready");
    const Diagnosis report(doctor(std::to_string(named.pid())));
    INFO(report);
    CHECK(report.says("LD_PRELOAD names pktmalloc, but"));
    CHECK(report.level("loader") == "problem");
  }
  REQUIRE(compile(folder, "#include <stdlib.h>\nvoid* malloc(size_t n) { return calloc(1, n); }\n",
                  "-shared -fPIC", "other.so"));
  Running behind({folder / "waiting"},
                 {{"LD_PRELOAD", (folder / "other.so") + " " + library_path()}});
  behind.line("ready");
  const Diagnosis second(doctor(std::to_string(behind.pid())));
  INFO(second);
  CHECK(second.consistent());
  CHECK(second.level("malloc") == "problem");
  CHECK(second.says("other.so, which stands before pktmalloc"));
}

TEST_CASE("allocators in the libraries of a running program are named") {
  TemporaryFolder folder;
  // As jemalloc is in libarrow: under names of its own, stripped.
  const std::string within = "const char* within(void) { return \"<jemalloc>: Error\"; }\n";
  REQUIRE(compile(folder, within, "-shared -fPIC -s", "libwithin.so"));
  // That nobody names but another library.
  REQUIRE(compile(folder, "void mi_malloc(void) {}\n", "-shared -fPIC", "libmimalloc.so.2"));
  const std::string here = " -Wl,-rpath," + folder.path() + " -Wl,--no-as-needed ";
  REQUIRE(compile(folder, "void between(void) {}\n",
                  "-shared -fPIC" + here + (folder / "libmimalloc.so.2"), "libbetween.so"));
  REQUIRE(compile(folder, kWaiting,
                  here + (folder / "libwithin.so") + " " + (folder / "libbetween.so"), "waiting"));
  for (const Running::Environment& environment :
       {Running::Environment{}, Running::Environment{{"LD_PRELOAD", library_path()}}}) {
    Running process({folder / "waiting"}, environment);
    process.line("ready");
    const Diagnosis report(doctor(std::to_string(process.pid())));
    INFO(report);
    CHECK(report.consistent());
    CHECK(report.says((folder / "libwithin.so") + " has jemalloc built in"));
    CHECK(report.says("libmimalloc.so.2 is in the process: mimalloc stands behind pktmalloc"));
    CHECK(report.says("Its malloc is that of "));
  }
}

TEST_CASE("a process without the library is told so where its memory may not be read") {
  TemporaryFolder folder;
  REQUIRE(compile(folder, kWaiting, "", "waiting"));
  // As kernel.yama.ptrace_scope does.
  REQUIRE(compile(folder,
                  "#include <errno.h>\n#include <linux/filter.h>\n#include <linux/seccomp.h>\n"
                  "#include <sys/prctl.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n"
                  "int main(int argc, char** argv) { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);\n"
                  "  struct sock_filter all[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),\n"
                  "    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),\n"
                  "    BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | EPERM),\n"
                  "    BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)};\n"
                  "  struct sock_fprog filter = {4, all};\n"
                  "  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);\n"
                  "  execv(argv[1], argv + 1); }\n",
                  "", "blind"));
  Running process({folder / "waiting"});
  process.line("ready");
  const Diagnosis report(Program({folder / "blind", build_path("pktmalloc"), "doctor", "--json",
                                  std::to_string(process.pid())}));
  INFO(report);
  CHECK(report.consistent());
  CHECK(report.level("library") == "problem");
}

TEST_CASE("a library that has too few addresses does not serve") {
  TemporaryFolder folder;
  REQUIRE(compile(folder, kWaiting, "", "waiting"));
  Running process({"sh", "-c", "ulimit -v 500000; exec " + (folder / "waiting")},
                  {{"LD_PRELOAD", library_path()}});
  process.line("ready");
  const Diagnosis report(doctor(std::to_string(process.pid())));
  INFO(report);
  CHECK(report.level("serving") == "problem");
  CHECK(report.level("RLIMIT_AS") == "problem");
}

TEST_CASE("a library whose file was replaced, and a filter of system calls") {
  TemporaryFolder folder;
  const std::string library = folder / "libpktmalloc.so";
  std::filesystem::copy_file(library_path(), library);
  REQUIRE(compile(folder,
                  "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
                  "#include <sys/prctl.h>\n#include <linux/filter.h>\n#include <linux/seccomp.h>\n"
                  "int main(void) { free(malloc(100)); prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);\n"
                  "  struct sock_filter all[] = {BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)};\n"
                  "  struct sock_fprog filter = {1, all};\n"
                  "  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);\n"
                  "  puts(\"ready\"); fflush(stdout); pause(); }\n",
                  "", "filtered"));
  Running process({folder / "filtered"}, {{"LD_PRELOAD", library}});
  process.line("ready");
  std::filesystem::remove(library);
  const Diagnosis report(doctor(std::to_string(process.pid())));
  INFO(report);
  CHECK(report.consistent());
  CHECK(report.level("library") == "warning");
  CHECK(report.says("was replaced"));
  CHECK(report.level("serving") == "ok");
  CHECK(report.says("A filter of system calls is on."));
}

TEST_CASE("a process whose main thread has ended is looked at, and told, as any other") {
  Running process({program_path("loses_known_objects"), "wait", "alone"},
                  {{"LD_PRELOAD", library_path()}, {"PKTMALLOC_CONTROL", "1"}});
  const std::string pid = process.line("ready ");
  const Diagnosis report(doctor(pid));
  INFO(report);
  CHECK(report.consistent());
  for (const char* topic : {"library", "malloc", "serving"}) CHECK(report.level(topic) == "ok");
  CHECK(report.says("It obeys pktmalloc tell"));
  const Outcome told = Program({build_path("pktmalloc"), "tell", pid, "trim"}).run();
  INFO(told);
  CHECK(told.status == 0);
}

TEST_CASE("what cannot be looked at is told in one line") {
  std::string gone;
  {
    Running process({"sleep", "600"});
    gone = std::to_string(process.pid());
  }
  for (const std::string& what : {gone, std::string("no-such-command"), std::string("/no/such"),
                                  std::string("99999999999999")}) {
    const Outcome outcome = doctor(what).run();
    INFO(what << ": " << outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("pktmalloc: there is no ") == 0);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
}

TEST_CASE("a process that belongs to another user is said to") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv"});
  Running process({"sleep", "600"});
  const Outcome other =
      Program({"sh", "-c",
               kNobody + build_path("pktmalloc") + " doctor " + std::to_string(process.pid())})
          .run();
  INFO(other);
  if (other.status == 126 || other.status == 127) skip("others cannot read the build");
  CHECK(other.status == 2);
  CHECK(other.err.find("belongs to another user") != std::string::npos);
}

TEST_CASE("a process of one's own that is protected is not called another user's") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv", "/usr/bin/python3"});
  const std::string protect =
      "import ctypes,os; ctypes.CDLL(None).prctl(4, 0); "
      "os.spawnlp(os.P_WAIT, '" +
      build_path("pktmalloc") + "', 'pktmalloc', 'doctor', str(os.getpid()))";
  const Outcome outcome = Program({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                   "/usr/bin/python3", "-c", protect})
                              .run();
  INFO(outcome);
  if (outcome.err.empty()) skip("others cannot read the build");
  CHECK(outcome.err.find("is protected (not dumpable") != std::string::npos);
}

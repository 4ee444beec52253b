// SPDX-License-Identifier: MIT
// pktmalloc doctor CMD: the real command looks at real programs.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/diagnosis.h"
#include "tests/setuid.h"
#include "tests/skip.h"
#include "tests/terminal.h"

TEST_CASE("an ordinary program is well") {
  for (const std::string name : {"sleep", "redis-server"}) {
    if (!at_hand(name)) continue;
    const Diagnosis report(doctor(name));
    INFO(report);
    CHECK(report.consistent());
    CHECK(report.level("library") == "ok");
    CHECK(report.level("program") == "ok");
    for (const std::string topic : {"RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_MEMLOCK", "overcommit",
                                    "THP", "seccomp", "container", "max_map_count"}) {
      CHECK(!report.level(topic).empty());
    }
    CHECK(report.outcome.status == 0);
    const Outcome text = Program({build_path("pktmalloc"), "doctor", name}).run();
    CHECK(text.out.find("All is well.\n") != std::string::npos);
    for (size_t at = 0, end; (end = text.out.find('\n', at)) != std::string::npos; at = end + 1) {
      CHECK(end - at <= 80 + build_path("").size());  // a path is not broken
    }
  }
}

TEST_CASE("programs that a preload does not reach, or that it breaks") {
  TemporaryFolder folder;
  const struct {
    std::string name, options, topic, says;
  } programs[] = {
      {"static", "-static", "loader", "is linked statically"},
      {"static-pie", "-static-pie", "loader", "is linked statically"},
      {"asan", "-fsanitize=address", "sanitizer", "address sanitizer"},
      {"tsan", "-fsanitize=thread", "sanitizer", "thread sanitizer"},
      {"musl", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1", "loader", "built for musl"},
      {"elsewhere", "-Wl,--dynamic-linker=/opt/no/ld-linux.so.9", "loader",
       "is not on this machine"},
  };
  for (const auto& p : programs) {
    if (!compile(folder, kWaiting, p.options, p.name)) continue;
    const Diagnosis report(doctor(folder / p.name));
    INFO(p.name << ": " << report);
    CHECK(report.consistent());
    CHECK(report.level(p.topic) == "problem");
    CHECK(report.says(p.says));
  }
}

TEST_CASE("a program for another machine") {
  TemporaryFolder folder;
  std::filesystem::copy_file(program_path("hello"), folder / "arm");
  std::fstream file(folder / "arm", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(18);  // e_machine
  file.put(static_cast<char>(183));
  file.close();
  const Diagnosis report(doctor(folder / "arm"));
  INFO(report);
  CHECK(report.level("machine") == "problem");
  CHECK(report.says("64-bit ARM"));
}

TEST_CASE("allocators that a program brings along") {
  TemporaryFolder folder;
  const std::string own =
      "static char pool[1 << 20]; static unsigned long at;\n"
      "void* malloc(unsigned long n) { void* p = pool + at; at += (n + 15) & -16UL; return p; }\n"
      "void free(void* p) {}\nint main(void) {}\n";
  const std::string known = own + "int mi_malloc_small(void) { return 0; }\n";
  REQUIRE(compile(folder, known, "-rdynamic", "own"));
  const Diagnosis built_in(doctor(folder / "own"));
  INFO(built_in);
  CHECK(built_in.consistent());
  CHECK(built_in.level("allocator") == "problem");
  CHECK(built_in.says("has mimalloc built in"));

  REQUIRE(compile(folder, known, "-fvisibility=hidden", "hidden"));
  CHECK(Diagnosis(doctor(folder / "hidden")).level("allocator") == "warning");
  REQUIRE(compile(folder, "void _rjem_malloc(void) {}\nint main(void) {}\n", "", "rust"));
  const Diagnosis prefixed(doctor(folder / "rust"));
  CHECK(prefixed.level("allocator") == "warning");
  CHECK(prefixed.says("jemalloc"));
  REQUIRE(compile(folder, own + "const char* said = \"<jemalloc>: Error in mmap(): \";\n",
                  "-rdynamic -s", "stripped"));
  CHECK(Diagnosis(doctor(folder / "stripped")).says("has jemalloc built in"));
  if (compile(folder, kWaiting, "-Wl,--no-as-needed -l:libjemalloc.so.2", "linked")) {
    const Diagnosis linked(doctor(folder / "linked"));
    INFO(linked);
    CHECK(linked.level("allocator") == "ok");
    CHECK(linked.says("jemalloc stands behind pktmalloc"));
  }
  CHECK(Diagnosis(doctor(program_path("hello", "static"))).says("pktmalloc is linked into it"));
  CHECK(Diagnosis(doctor(program_path("hello", "shared"))).says("linked with libpktmalloc.so"));
}

TEST_CASE("the own pools of Python and PHP, and how to do without them") {
  const std::string runtimes[][3] = {{"/usr/bin/python3", "PYTHONMALLOC", "malloc"},
                                     {"/usr/bin/php", "USE_ZEND_ALLOC", "0"}};
  for (const auto& [program, variable, value] : runtimes) {
    if (!std::filesystem::exists(program)) continue;
    const Diagnosis pools(doctor(program));
    INFO(pools);
    CHECK(pools.consistent());
    CHECK(pools.level("runtime") == "warning");
    CHECK(pools.says(variable + "=" + value));
    CHECK(Diagnosis(doctor(program).with(variable, value)).level("runtime") == "ok");
  }
}

TEST_CASE("a script is judged by its interpreter") {
  TemporaryFolder folder;
  folder.write("script", "#!/usr/bin/env python3\n");
  REQUIRE(chmod((folder / "script").c_str(), 0755) == 0);
  const Diagnosis report(doctor(folder / "script").with("PATH", "/usr/bin:/bin"));
  INFO(report);
  CHECK(report.level("script") == "ok");
  CHECK(report.says((folder / "script") + " is a script"));
  folder.write("shell", "#!/bin/sh\n");
  REQUIRE(chmod((folder / "shell").c_str(), 0755) == 0);
  const Outcome text = Program({build_path("pktmalloc"), "doctor", folder / "shell"}).run();
  CHECK(text.out.find("interpreter /bin/sh alone;\nlook again with doctor PID") !=
        std::string::npos);
  CHECK(report.level("runtime") == "warning");
}

TEST_CASE("a script of a shell is judged by what it becomes, or not at all") {
  TemporaryFolder folder;
  REQUIRE(compile(folder, kWaiting, "-static", "static"));
  const auto script = [&](const std::string& name, const std::string& text) {
    folder.write(name, text);
    REQUIRE(chmod((folder / name).c_str(), 0755) == 0);
    return folder / name;
  };
  const Diagnosis fine(
      doctor(script("fine", "#!/bin/sh\nexec 2>/dev/null\nexec \"sleep\" 1 \"$@\"\n")));
  INFO(fine);
  CHECK(fine.level("script") == "ok");
  CHECK(fine.outcome.status == 0);
  const Diagnosis bad(doctor(script("bad", "#!/bin/sh\n  exec " + (folder / "static") + "\n")));
  INFO(bad);
  CHECK(bad.level("loader") == "problem");
  for (const std::string variable : {"", "A=b "}) {
    const std::string line = "#!/usr/bin/env -S " + variable + (folder / "static") + " -u\n";
    const Diagnosis by_env(doctor(script("by_env", line)));
    INFO(by_env);
    CHECK(by_env.level("loader") == "problem");
  }
  // As a shim of pyenv: another script, which finds the program while it runs.
  script("manager", "#!/usr/bin/env bash\nexec \"$found\" \"$@\"\n");
  const Diagnosis shim(doctor(script("shim", "#!/usr/bin/env bash\nexec \"" + (folder / "manager") +
                                                 "\" exec \"${0##*/}\" \"$@\"\n")));
  INFO(shim);
  CHECK(shim.consistent());
  CHECK(shim.level("script") == "warning");
  CHECK(shim.says((folder / "shim") + " is a script of /"));
  CHECK(shim.says("which becomes " + (folder / "manager") + ". What that starts"));
  script("second", "#!/bin/sh\nexec /usr/bin/env A=1 B='2' " + (folder / "static") + "\n");
  CHECK(Diagnosis(doctor(script("first", "#!/bin/sh\nexec " + (folder / "second") + "\n")))
            .level("loader") == "problem");
  script("circle", "#!/bin/sh\nexec " + (folder / "circle") + "\n");
  CHECK(Diagnosis(doctor(folder / "circle")).level("script") == "warning");
  for (const std::string text : {"#!/bin/sh\nsleep 1\n", "#!/bin/sh\nexec env -i sleep 1\n",
                                 "#!/bin/bash\nexec $HERE/sleep\n",
                                 "#!/bin/sh\nexec /no/such/program\n", "no first line\n"}) {
    const Diagnosis unknown(doctor(script("unknown", text)));
    INFO(text << unknown);
    CHECK(unknown.level("script") == "warning");
    CHECK(unknown.consistent());
  }
}

TEST_CASE("the doctor's text fits a narrow terminal, and a dumb one has no colours") {
  skip_without({"tmux"});
  TemporaryFolder folder;
  for (const std::string name : {"dumb", "xterm"}) {
    Terminal terminal(40, 50);
    terminal.command("TERM=" + name + " " + build_path("pktmalloc") + " doctor sleep >/dev/tty" +
                     "; echo status=$?");
    const std::string screen = terminal.until("\nstatus=");
    INFO(screen);
    // Of words that are shorter than a line none is broken.
    CHECK(screen.find(
              "\n  It is a dynamic program for x86-64 and\n  glibc: a preload reaches it.\n") !=
          std::string::npos);
    const std::string raw = terminal.screen_with_colours();
    CHECK((raw.find("\033[32m") != std::string::npos) == (name == "xterm"));
  }
}

TEST_CASE("setuid programs, for another than their owner") {
  TemporaryFolder folder;
  const std::string copy = setuid_copy(program_path("hello"), folder);
  const Diagnosis of_owner(doctor(copy));
  CHECK(of_owner.level("privilege") == "warning");
  CHECK(of_owner.says("started by other users it ignores LD_PRELOAD"));
  CHECK(of_owner.consistent());
  const Diagnosis report(
      Program({"sh", "-c", kNobody + build_path("pktmalloc") + " doctor --json " + copy}));
  if (report.outcome.status == 126 || report.outcome.status == 127)
    skip("others cannot read the build");
  INFO(report);
  CHECK(report.level("privilege") == "problem");
  CHECK(report.consistent());
}

TEST_CASE("limits") {
  const Diagnosis none(doctor("sleep").limit(RLIMIT_AS, rlim_t{500} << 20));
  INFO(none);
  CHECK(none.level("RLIMIT_AS") == "problem");
  CHECK(none.consistent());
  CHECK(none.says("below 512.0 MiB nothing is pooled"));
  CHECK(Diagnosis(doctor("sleep").limit(RLIMIT_AS, rlim_t{512} << 20)).level("RLIMIT_AS") == "ok");
  CHECK(Diagnosis(doctor("sleep").limit(RLIMIT_DATA, 1 << 30)).level("RLIMIT_DATA") == "warning");
  CHECK(Diagnosis(doctor("sleep").limit(RLIMIT_DATA, 1 << 28)).level("RLIMIT_DATA") == "problem");

  TemporaryFolder folder;
  REQUIRE(
      compile(folder, "int mlockall(int);\nint main(void) { return mlockall(2); }\n", "", "locks"));
  const std::string look = build_path("pktmalloc") + " doctor --json " + (folder / "locks");
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  const Diagnosis locks(
      Program({"sh", "-c", (geteuid() == 0 ? kNobody : "") + look}).limit(RLIMIT_MEMLOCK, 1 << 20));
  INFO(locks);
  if (locks.json.is_object()) CHECK(locks.level("RLIMIT_MEMLOCK") == "warning");
}

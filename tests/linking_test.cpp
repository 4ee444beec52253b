// SPDX-License-Identifier: MIT
// The library as others get it: installed, found by pkg-config, linked shared and static, removed.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "preload/contract/pktmalloc.h"
#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

// "build" or "build/debug".
const std::string kVariant = std::string(PKTMALLOC_BUILD) == "build" ? "release" : "debug";

Outcome make(const std::string& target, const std::string& prefix) {
  return Program({"make", "-s", target, "DESTDIR=", "PREFIX=" + prefix, "VARIANT=" + kVariant})
      .run();
}

Outcome shell(const std::string& command, const std::string& prefix) {
  return Program({"sh", "-c", command})
      .with("PKG_CONFIG_PATH", prefix + "/lib/pkgconfig")
      .with("PREFIX", prefix)
      .run();
}

struct Content {
  size_t files = 0;
  uintmax_t bytes = 0;
};

Content content_of(const std::string& folder) {
  Content content;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    content.files += !entry.is_directory();
    if (entry.is_regular_file() && !entry.is_symlink()) content.bytes += entry.file_size();
  }
  return content;
}

struct Language {
  std::string name, compile;
};

std::string object_of(const std::string& source) {
  return build_path("tests/bin/" + source + ".o");
}

// The path of a program that is linked with -static and the archive.
std::string linked_alone(const std::string& input, const TemporaryFolder& folder,
                         const std::string& how = "-static") {
  const std::string program = folder / std::filesystem::path(input).stem();
  const Outcome built = shell("g++ " + how + " -O1 -fno-builtin -pthread " + input + " -o " +
                                  program + " -Wl,--whole-archive " + build_path("libpktmalloc.a") +
                                  " -Wl,--no-whole-archive 2>/dev/null",
                              "");
  if (built.status != 0) skip("there is no static libc");
  return program;
}

}  // namespace

TEST_CASE("the installed library serves programs that are linked with it") {
  TemporaryFolder folder;
  const std::string prefix = folder / "usr";
  const Outcome installed_now = make("install", prefix);
  INFO(installed_now);
  REQUIRE(installed_now.status == 0);

  const Outcome version = shell("pkg-config --modversion pktmalloc", prefix);
  CHECK(version.out == std::string(PKTMALLOC_VERSION) + "\n");

  const Language languages[] = {
      {"c", "gcc -std=c11 -pedantic -Wall -Wextra -Werror -O2 tests/examples/example.c"},
      {"cpp", "g++ -std=c++17 -Wall -Wextra -Werror -O2 tests/examples/example.cpp"}};
  const std::string flags = " $(pkg-config --cflags pktmalloc)";
  for (const Language& language : languages) {
    const std::string shared = folder / ("shared-" + language.name);
    const std::string plain_static = folder / ("static-" + language.name);
    const Outcome built =
        shell(language.compile + flags + " -o " + shared + " $(pkg-config --libs pktmalloc)" +
                  " && " + language.compile + flags + " -o " + plain_static +
                  " -Wl,--whole-archive $PREFIX/lib/libpktmalloc.a -Wl,--no-whole-archive -pthread",
              prefix);
    INFO(language.name << ": " << built);
    REQUIRE(built.clean());

    const std::string greeting = std::string("pktmalloc ") + PKTMALLOC_VERSION + "\n";
    const Outcome by_shared = Program({shared}).with("LD_LIBRARY_PATH", prefix + "/lib").run();
    INFO(by_shared);
    CHECK(by_shared.status == 0);
    CHECK(by_shared.out == greeting);
    const Outcome by_static = Program({plain_static}).run();
    INFO(by_static);
    CHECK(by_static.status == 0);
    CHECK(by_static.out == greeting);
    // The shared one needs the library when it runs, the static one does not.
    CHECK(Program({shared}).run().status == 127);
    CHECK(shell("readelf -d " + shared, prefix).out.find("[libpktmalloc.so.0]") !=
          std::string::npos);
    CHECK(shell("readelf -d " + plain_static, prefix).out.find("libpktmalloc") ==
          std::string::npos);
  }

  const Outcome preloaded = Program({program_path("hello")})
                                .with("LD_PRELOAD", prefix + "/lib/libpktmalloc.so")
                                .with("PKTMALLOC_VERBOSE", "1")
                                .run();
  CHECK(preloaded.err.find(std::string("pktmalloc: version ") + PKTMALLOC_VERSION + " of ") == 0);

  const Content content = content_of(prefix);
  CHECK(content.files >= 6);
  CHECK(content.bytes < 6'000'000);
  // Debug information is left out, names of functions are not.
  CHECK(shell("nm $PREFIX/lib/libpktmalloc.so | grep -c Cache", prefix).status == 0);
  const Outcome removed = make("uninstall", prefix);
  INFO(removed);
  CHECK(removed.status == 0);
  CHECK(std::filesystem::is_empty(prefix));
}

TEST_CASE("pkg-config and CMake find the installed library, shared and static") {
  TemporaryFolder folder;
  const std::string prefix = folder / "usr", source = folder / "source", built = folder / "built";
  REQUIRE(make("install", prefix).status == 0);
  const std::string greeting = std::string("pktmalloc ") + PKTMALLOC_VERSION + "\n";
  const Outcome by_pkg_config = shell(
      "gcc tests/examples/example.c -o $PREFIX/example $(pkg-config --cflags --libs "
      "pktmalloc-static) && $PREFIX/example",
      prefix);
  INFO(by_pkg_config);
  CHECK(by_pkg_config.out == greeting);

  skip_without({"cmake"});
  std::filesystem::create_directory(source);
  std::ofstream(source + "/CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.13)\n"
         "project(example C CXX)\n"
         "find_package(pktmalloc "
      << PKTMALLOC_VERSION
      << " REQUIRED)\n"
         "find_package(pktmalloc 99 QUIET)\n"
         "if(pktmalloc_FOUND)\n  message(FATAL_ERROR \"99 is not there yet\")\nendif()\n"
         "find_package(pktmalloc REQUIRED)\n"
         "foreach(way pktmalloc static)\n"
         "  add_executable(${way} ${examples}/example.cpp)\n"
         "  target_link_libraries(${way} pktmalloc::${way})\n"
         "  add_executable(plain_${way} ${examples}/../programs/hello.c)\n"
         "  target_link_libraries(plain_${way} pktmalloc::${way})\n"
         "endforeach()\n";
  const Outcome configured =
      shell("cmake -S " + source + " -B " + built + " -DCMAKE_PREFIX_PATH=$PREFIX -Dexamples=$PWD" +
                "/tests/examples && cmake --build " + built,
            prefix);
  INFO(configured);
  REQUIRE(configured.status == 0);
  for (const std::string way : {"pktmalloc", "static"}) {
    CHECK(Program({built + "/" + way}).run().out == greeting);
    const Outcome plain = Program({built + "/plain_" + way}).with("PKTMALLOC_VERBOSE", "1").run();
    CHECK(plain.err.find("pktmalloc: version ") == 0);
  }
}

TEST_CASE("without the command there are the library, the archive and what finds them") {
  TemporaryFolder folder;
  const std::string prefix = folder / "usr";
  REQUIRE(make("install-library", prefix).status == 0);
  CHECK_FALSE(std::filesystem::exists(prefix + "/bin"));
  for (const std::string name : {"pktmalloc", "pktmalloc-static"}) {
    const Outcome outcome =
        shell("gcc tests/examples/example.c -o $PREFIX/example $(pkg-config --cflags --libs " +
                  name + ") && LD_LIBRARY_PATH=$PREFIX/lib $PREFIX/example && rm $PREFIX/example",
              prefix);
    INFO(outcome);
    CHECK(outcome.out == std::string("pktmalloc ") + PKTMALLOC_VERSION + "\n");
  }
  REQUIRE(make("uninstall", prefix).status == 0);
  CHECK(std::filesystem::is_empty(prefix));
}

TEST_CASE("the tarball has what is installed, and works where it is unpacked") {
  if (kVariant != "release") skip("the tarball is of the release");
  TemporaryFolder folder;
  REQUIRE(Program({"make", "-s", "tarball"}).run().status == 0);
  const Outcome outcome = shell(
      "mkdir $PREFIX && tar --extract --directory=$PREFIX --file "
      "build/pktmalloc-*-linux-$(uname -m).tar.xz && "
      "$PREFIX/*/bin/pktmalloc run --dry-run true",
      folder / "usr");
  INFO(outcome);
  CHECK(outcome.out.find("LD_PRELOAD=" + (folder / "usr") + "/pktmalloc-" + PKTMALLOC_VERSION +
                         "-linux-") == 0);
}

TEST_CASE("a program that needs a function of a later version is told so when it starts") {
  TemporaryFolder folder;
  const Outcome outcome = shell(
      "cd " + (folder / "") +
          " && echo 'PKTMALLOC_9.9 { global: pktmalloc_later; };' > map"
          " && echo 'void pktmalloc_later(void) {}' > later.c"
          " && gcc -shared -fPIC later.c -o libpktmalloc.so -Wl,-soname,libpktmalloc.so.0,"
          "--version-script=map"
          " && echo 'void pktmalloc_later(void); int main(void) { pktmalloc_later(); }' > main.c"
          " && gcc main.c -L. -lpktmalloc -o program && cp " +
          std::filesystem::absolute(build_path("libpktmalloc.so")).string() +
          " libpktmalloc.so.0 && LD_LIBRARY_PATH=. ./program",
      folder / "");
  INFO(outcome);
  CHECK(outcome.status != 0);
  CHECK(outcome.err.find("version `PKTMALLOC_9.9' not found") != std::string::npos);
}

TEST_CASE("the installed command finds the installed library, in lib and in lib/<multiarch>") {
  TemporaryFolder folder;
  const std::string prefix = folder / "usr";
  REQUIRE(make("install", prefix).status == 0);
  const std::string dry_run = "$PREFIX/bin/pktmalloc run --dry-run true";
  const Outcome in_lib = shell(dry_run, prefix);
  INFO(in_lib);
  CHECK(in_lib.out == "LD_PRELOAD=" + prefix + "/lib/libpktmalloc.so \\\ntrue\n");
  const Outcome below = shell(
      "d=$PREFIX/lib/$(gcc -print-multiarch); mkdir $d; "
      "mv $PREFIX/lib/libpktmalloc.so* $d; " +
          dry_run,
      prefix);
  INFO(below);
  CHECK(below.out.find("LD_PRELOAD=" + prefix + "/lib/x86_64-linux-gnu/libpktmalloc.so") == 0);
  const Outcome served = shell("$PREFIX/bin/pktmalloc run --verbose true", prefix);
  CHECK(served.err.find("pktmalloc: version ") == 0);

  // Without the development link there is the name that the loader uses; without any, a line.
  CHECK(shell("rm $PREFIX/lib/*/libpktmalloc.so; " + dry_run, prefix)
            .out.find("libpktmalloc.so.0 ") != std::string::npos);
  const Outcome none = shell("rm $PREFIX/lib/*/libpktmalloc.so*; " + dry_run, prefix);
  INFO(none);
  if (none.status == 0) {
    leave_out("the library is installed on this machine");
  } else {
    CHECK(none.status == 2);
    CHECK(none.err.find("pktmalloc: there is no libpktmalloc.so in " + prefix + "/bin, ") == 0);
  }
  for (const std::string file : {"share/man/man1/pktmalloc.1", "share/man/man1/pktmalloc-run.1",
                                 "share/bash-completion/completions/pktmalloc"}) {
    CHECK(std::filesystem::is_regular_file(prefix + "/" + file));
  }
}

TEST_CASE("the archive's members are all needed only when malloc is: a plain -l links too") {
  TemporaryFolder folder;
  const std::string prefix = folder / "usr";
  REQUIRE(make("install", prefix).status == 0);
  for (const Language& language : {Language{"c", "gcc -O2 tests/examples/example.c"},
                                   Language{"cpp", "g++ -O2 tests/examples/example.cpp"}}) {
    const std::string program = folder / language.name;
    const Outcome built = shell(language.compile + " -I$PREFIX/include -o " + program +
                                    " $PREFIX/lib/libpktmalloc.a -pthread",
                                prefix);
    INFO(built);
    REQUIRE(built.clean());
    const Outcome outcome = Program({program}).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("a preload does not reach a program that is linked with -static, and does no harm") {
  TemporaryFolder folder;
  const std::string program = folder / "hello";
  const Outcome built = shell("gcc -static -O1 tests/programs/hello.c -o " + program, "");
  if (built.status != 0) skip("there is no static libc");
  const Outcome outcome = Program({program}).preloaded().with("PKTMALLOC_STATS", "1").run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(outcome.out == "hello\n");
  CHECK(outcome.err.empty());
}

TEST_CASE("programs that are linked with -static and the archive behave as their names say") {
  TemporaryFolder folder;
  const std::string names[] = {"alignments_up_to_a_gibibyte.c",
                               "fork_handlers_free_large_blocks.c",
                               "large_blocks_kept_and_given_back.c",
                               "mallinfo2_is_plausible.c",
                               "malloc_trim_tells_whether_it_gave_back.c",
                               "mallopt_returns_one.c",
                               "new_handler_is_called_and_retried.cpp",
                               "new_throws_bad_alloc.cpp",
                               "random_calls_of_all_functions.cpp",
                               "realloc_crosses_between_pool_and_next_allocator.c",
                               "requests_beyond_ptrdiff_max_fail.c",
                               "usable_size_is_writable.c",
                               "works_in_strict_mode.c"};
  for (const std::string& name : names) {
    const Outcome outcome = Program({linked_alone(object_of(name), folder)}).run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("operator new fails as it should where the C++ runtime is linked in") {
  TemporaryFolder folder;
  for (const std::string name :
       {"new_handler_is_called_and_retried.cpp", "new_throws_bad_alloc.cpp"}) {
    const Outcome outcome =
        Program({linked_alone(object_of(name), folder, "-static-libstdc++")}).run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("a program linked with -static keeps its limits, pooled or not") {
  TemporaryFolder folder;
  const std::string fills = linked_alone(object_of("large_blocks_fill_a_limit.c"), folder);
  const Outcome by_option = Program({fills, "64"}).with("PKTMALLOC_LIMIT", "64MiB").run();
  INFO(by_option);
  CHECK(by_option.clean());
  const Outcome by_system = Program({fills, "100"}).limit(RLIMIT_AS, rlim_t{100} << 20).run();
  INFO(by_system);
  CHECK(by_system.clean());
  const Outcome mixed = Program({linked_alone(object_of("work_under_limits.c"), folder)})
                            .with("PKTMALLOC_STATS", "1")
                            .limit(RLIMIT_AS, rlim_t{1} << 30)
                            .run();
  INFO(mixed);
  CHECK(mixed.status == 0);
  CHECK(mixed.out == "done\n");
  CHECK(mixed.err.find("---- pktmalloc") == 0);
}

TEST_CASE("a program linked with -static is told of a wrong free of a large block") {
  TemporaryFolder folder;
  folder.write("frees.c",
               "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
               "int main(int count, char** words) {\n"
               "  char* p = (char*)malloc(300000); memset(p, 1, 300000); p += atoi(words[1]);\n"
               "  printf(\"%p\", (void*)p); fflush(stdout);\n"
               "  free(p); free(p); return count; }\n");
  const std::string frees = linked_alone(folder / "frees.c", folder);
  const std::string inside =
      " bytes inside an object of up to 327680 bytes; an earlier call may be at fault";
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {"0", "double free of ", ", an object of up to 327680 bytes"},
      {"8", "free of ", ", 8" + inside},
      {"4096", "free of ", ", 4096" + inside}};
  for (const auto& [offset, what, why] : rows) {
    const Outcome outcome = Program({frees, offset}).run();
    INFO(outcome);
    CHECK(outcome.signal == SIGABRT);
    CHECK(outcome.err.find("pktmalloc: " + what + outcome.out + why) == 0);
  }
}

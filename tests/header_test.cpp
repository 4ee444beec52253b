// SPDX-License-Identifier: MIT
// pktmalloc.hpp: where it inlines and where it calls malloc and free, by a program that counts
// these calls; what becomes of the objects is in
// tests/programs/inlined_objects_are_those_of_malloc.cpp.
#include <catch2/catch.hpp>

#include <signal.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"
#include "tests/twins.h"

namespace {

constexpr long kPairs = 100'000;
constexpr long kFew = kPairs / 50;  // trips to the library

const std::string kWrap = " -Wl,--wrap=malloc,--wrap=free,--wrap=posix_memalign";
const std::string kFlags = " -Wall -Wextra -Werror -pthread ";

void shell(const std::string& command) {
  const Outcome outcome = Program({"sh", "-c", command}).run();
  INFO(command << ": " << outcome);
  REQUIRE(outcome.clean());
}

void build(const std::string& source, const std::string& program, const std::string& more = "",
           const std::string& compiler = "g++ -std=c++17 -O2",
           const std::string& header = "preload/contract") {
  shell(compiler + kFlags + "-I" + header + " " + source + " -o " + program + " " + more);
}

std::string linked() {
  return " -Wl,--no-as-needed -L" + build_path("") + " -lpktmalloc -Wl,-rpath," + build_path("");
}

// Calls of malloc and of free, by kind of pair.
struct Calls {
  long allocations, releases;
};
std::map<std::string, Calls> counted(const Program& program) {
  const Outcome outcome = program.run();
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.err.empty());
  std::map<std::string, Calls> all;
  std::istringstream lines(outcome.out);
  std::string name;
  for (Calls calls; lines >> name >> calls.allocations >> calls.releases;) all[name] = calls;
  REQUIRE(all.size() == 10);
  return all;
}

void check_inlined(const std::map<std::string, Calls>& all) {
  for (const auto& [name, calls] : all) {
    INFO(name << " called malloc " << calls.allocations << " times, free " << calls.releases);
    CHECK(calls.allocations < kFew);
    CHECK(calls.releases < kFew);
  }
}

void check_called(const std::map<std::string, Calls>& all) {
  for (const auto& [name, calls] : all) {
    INFO(name << " called malloc " << calls.allocations << " times, free " << calls.releases);
    CHECK(calls.allocations == kPairs);
    CHECK(calls.releases >= kPairs - 101);  // the list keeps some
    CHECK(calls.releases <= kPairs);
  }
}

// The headers with another number of the schema.
std::string other_schema(const TemporaryFolder& folder) {
  shell("mkdir " + (folder / "other") + " && cp preload/contract/pktmalloc* " + (folder / "other") +
        " && sed -i 's/schema_[0-9]*/schema_0/; s/kSchema = [0-9]*/kSchema = 0/' " +
        (folder / "other") + "/*.hpp && grep -q 'kSchema = 0' " + (folder / "other") + "/*.hpp");
  return folder / "other";
}

// tests/header/counted.cpp as most cases want it, built once for all of them.
std::string counting_program() {
  static const TemporaryFolder folder;
  static const std::string program = [] {
    build("tests/header/counted.cpp", folder / "program", kWrap);
    return folder / "program";
  }();
  return program;
}

bool loadable(const std::string& library) {
  return Program({"/sbin/ldconfig", "-p"}).run().out.find(library) != std::string::npos;
}

}  // namespace

TEST_CASE("objects of constant sizes are taken and returned without a call", "[.long]") {
  const TemporaryFolder folder;
  const std::string program = counting_program();
  check_inlined(counted(Program({program}).preloaded()));
  SECTION("while allocations are sampled, but for the samples") {
    check_inlined(counted(Program({program}).preloaded().with("PKTMALLOC_SAMPLE_GUARD", "5000")));
    // For the profile a thread releases into a second cache, and goes to and fro between the two.
    for (const auto& [name, calls] : counted(Program({program})
                                                 .preloaded()
                                                 .with("PKTMALLOC_PROFILE", "/dev/null")
                                                 .with("PKTMALLOC_PROFILE_RATE", "100MiB"))) {
      INFO(name << " called malloc " << calls.allocations << " times, free " << calls.releases);
      CHECK(calls.releases < kFew);
      if (name == "64" || name == "48") CHECK(calls.allocations < kPairs / 16);
    }
  }
  SECTION("with another allocator behind the library") {
    if (!loadable("libmimalloc.so.2")) skip("libmimalloc.so.2 is not installed");
    check_inlined(counted(Program({program}).preloaded("libmimalloc.so.2")));
  }
  SECTION("linked shared and static") {
    build("tests/header/counted.cpp", folder / "another", kWrap + linked());
    check_inlined(counted(Program({folder / "another"})));
    build("tests/header/counted.cpp", folder / "another",
          kWrap + " " + build_path("libpktmalloc.a"));
    check_inlined(counted(Program({folder / "another"})));
  }
  SECTION("by other compilers and with other options") {
    for (const std::string compiler :
         {"g++ -std=c++17 -O0", "g++ -std=c++20 -O3 -fno-pie -no-pie", "g++ -std=c++23 -Os -fPIC",
          "g++ -std=c++17 -O2 -fno-exceptions -fno-rtti", "clang++ -std=c++17 -O2"}) {
      if (compiler[0] == 'c' && !installed("clang++")) continue;
      build("tests/header/counted.cpp", folder / "another", kWrap, compiler);
      INFO(compiler);
      check_inlined(counted(Program({folder / "another"}).preloaded()));
    }
  }
}

TEST_CASE("an object of the next allocator at a low address does not come into an empty list") {
  const TemporaryFolder folder;
  const std::string program = folder / "program";
  build("tests/header/low_addresses.cpp", program, "-no-pie", "g++ -std=c++17 -O2 -fno-pie");
  const Outcome outcome = Program({program}).preloaded().run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  if (outcome.out != "3000\n") leave_out("glibc's heap does not lie at low addresses here");
}

TEST_CASE("the inlined code is right with other classes") {
  const std::string program = counting_program();
  const auto with = [&](const std::string& classes) {
    return counted(Program({program}).preloaded().with("PKTMALLOC_CLASSES", classes));
  };
  auto all = with("80,1600");
  for (const std::string name : {"64", "48", "1500", "class", "thread"}) {
    INFO(name);
    CHECK(all.at(name).allocations < kFew);
    CHECK(all.at(name).releases < kFew);
  }
  for (const std::string name : {"aligned", "100000"}) CHECK(all.at(name).releases == kPairs);
  all = with("1536");
  CHECK(all.at("1500").allocations < kFew);
  for (const std::string name : {"64", "48", "aligned"}) CHECK(all.at(name).allocations == kPairs);
  const Outcome outcome = Program({program_path("inlined_objects_are_those_of_malloc")})
                              .preloaded()
                              .with("PKTMALLOC_CLASSES", "48,112,1600,300000")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("all else calls malloc and free", "[.long]") {
  const TemporaryFolder folder;
  const std::string program = counting_program();
  SECTION("without the library") { check_called(counted(Program({program}))); }
  SECTION("the checked and the hardened library") {
    check_called(counted(checked({program})));
    check_called(counted(hardened({program})));
  }
  SECTION("what sees every call") {
    check_called(counted(Program({program}).preloaded().with("PKTMALLOC_TRACE", "/dev/null")));
    check_called(
        counted(Program({program}).preloaded().with("PKTMALLOC_SIZES", folder / "s.json")));
  }
  SECTION("another allocator, also before the library that the program is linked with") {
    build("tests/header/counted.cpp", folder / "linked", kWrap + linked());
    for (const std::string library : {"libmimalloc.so.2", "libjemalloc.so.2"}) {
      if (!loadable(library)) continue;
      check_called(counted(Program({program}).with("LD_PRELOAD", library)));
      check_called(counted(Program({folder / "linked"}).with("LD_PRELOAD", library)));
    }
  }
  SECTION("a header of another schema") {
    build("tests/header/counted.cpp", folder / "another", kWrap, "g++ -std=c++17 -O2",
          other_schema(folder));
    check_called(counted(Program({folder / "another"}).preloaded()));
  }
}

TEST_CASE("plugins with headers of two schemas release each other's objects") {
  const TemporaryFolder folder;
  const std::string program = folder / "program";
  const std::string ours = folder / "ours.so", other = folder / "other.so";
  build("tests/header/two_plugins.cpp", program);
  build("tests/header/plugin.cpp", ours, "-shared -fPIC");
  build("tests/header/plugin.cpp", other, "-shared -fPIC", "g++ -std=c++17 -O2",
        other_schema(folder));
  CHECK(Program({program, ours, other}).run().out == "0 0\n");
  for (const std::string& library : {ours, other}) {
    const Outcome outcome = Program({program, ours, library}).preloaded().run();
    INFO(outcome);
    CHECK(outcome.out == (library == ours ? "1 1\n" : "1 0\n"));
    CHECK(outcome.err.empty());
  }
  CHECK(checked({program, ours, other}).run().out == "0 0\n");
}

TEST_CASE("an object that inlined code releases twice in a row is found at the call") {
  const TemporaryFolder folder;
  const std::string program = folder / "program";
  folder.write("twice.cpp",
               "#include <cstdio>\n#include <pktmalloc.hpp>\n"
               "int main() {\n"
               "  void* objects[100];\n"
               "  for (void*& p : objects) p = pktmalloc::allocate<64>();\n"
               "  for (void* p : objects) pktmalloc::release<64>(p);\n"
               "  for (int i = 0; i < 9; ++i) objects[i] = pktmalloc::allocate<64>();\n"
               "  std::printf(\"%p\\n\", objects[3]);\n  std::fflush(stdout);\n"
               "  pktmalloc::release<64>(objects[3]);\n  pktmalloc::release<64>(objects[3]);\n"
               "  std::puts(\"goes on\");\n}\n");
  build(folder / "twice.cpp", program, "-Wno-use-after-free");
  const Outcome outcome = Program({program}).preloaded().run();
  INFO(outcome);
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.err == "pktmalloc: double free of " +
                           outcome.out.substr(0, outcome.out.size() - 1) +
                           ", an object of up to 64 bytes\n");
}

TEST_CASE("boost's containers take the allocator", "[.long]") {
  if (!std::filesystem::exists("/usr/include/boost/multi_index_container.hpp")) {
    skip("boost is not installed");
  }
  TemporaryFolder folder;
  build("tests/header/boost_containers.cpp", folder / "boost", "", "g++ -O1 -std=c++17");
  for (const std::string library : {"", "libpktmalloc.so", "libpktmalloc-checked.so"}) {
    Program program({folder / "boost"});
    if (!library.empty()) program.with("LD_PRELOAD", build_path(library));
    const Outcome outcome = program.run();
    INFO(library << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == "4000 2000 1000 2000 2000 2000 1000 1000 1\n");
    CHECK(outcome.err.empty());
  }
}

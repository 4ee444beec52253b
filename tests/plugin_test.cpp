// SPDX-License-Identifier: MIT
// Programs that load libraries while they run, with RTLD_DEEPBIND above all.
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include "tests/diagnosis.h"
#include "tests/program.h"
#include "tests/running.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

// Debian loads all but the last two with RTLD_DEEPBIND: they are shared libraries.
const char kExtensions[] =
    "foreach (['curl', 'dom', 'iconv', 'mbstring', 'pdo_sqlite', 'simplexml', 'sockets', "
    "'sqlite3', 'xmlreader', 'xmlwriter', 'xsl', 'sodium', 'pcntl'] as $name) "
    "extension_loaded($name) || exit(1);";

// What a Python has from the C library, a plugin frees, and the other way round.
const char kPython[] = R"script(
import ctypes, os, sys
libc = ctypes.CDLL(None)
plugin = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_DEEPBIND)
for function in (libc.malloc, plugin.allocate, plugin.make): function.restype = ctypes.c_void_p
for bytes in range(1, 5000, 7):
    plugin.release(ctypes.c_void_p(libc.malloc(ctypes.c_size_t(bytes))))
    libc.free(ctypes.c_void_p(plugin.allocate(ctypes.c_size_t(bytes))))
    plugin.destroy(ctypes.c_void_p(plugin.make(ctypes.c_size_t(bytes))))
print("done")
)script";

const char kStatic[] = R"script(#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  free(malloc(100));
  if (dlopen("libnone.so", RTLD_NOW | RTLD_DEEPBIND)) return 2;
  puts(dlerror());
  if (!dlopen(NULL, RTLD_NOW)) return 3;
  void* library = dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND);
  puts(library && dlsym(library, "cos") ? "found" : dlerror());
  return 0;
}
)script";

// Which of two functions of one name a plugin calls, and whose malloc it has.
const char kPlugin[] = R"script(#include <stdlib.h>
const char* whose(void) { return "the plugin's"; }
const char* asked(void) { return whose(); }
void* allocate(void) { return malloc(100); }
)script";

const char kOpener[] = R"script(#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
const char* whose(void) { return "the program's"; }
int main(int count, char** words) {
  const int flags = RTLD_NOW | RTLD_DEEPBIND;
  void* plugin = NULL;
  for (int i = 0; i < 2; ++i) {
    plugin = strcmp(words[1], "dlopen") == 0 ? dlopen(words[2], flags) : dlmopen(LM_ID_BASE, words[2], flags);
  }
  if (!plugin) return puts(dlerror()), 1;
  puts(((const char* (*)(void))dlsym(plugin, "asked"))());
  free(((void* (*)(void))dlsym(plugin, "allocate"))());
  fflush(stdout);
  if (count > 3) pause();
  return 0;
}
)script";

struct Opener : TemporaryFolder {
  Opener() {
    write("plugin.c", kPlugin);
    write("opener.c", kOpener);
    build("opener.c -rdynamic -o opener");
    build("plugin.c -shared -fPIC -o plain.so");
  }
  void build(const std::string& words) const {
    const Outcome outcome = Program({"sh", "-c", "gcc -fno-builtin -O1 " + words}).in(path()).run();
    INFO(outcome);
    REQUIRE(outcome.clean());
  }
  Outcome open(const std::string& how, const std::string& plugin,
               const std::string& verbose = "0") const {
    return Program({*this / "opener", how, *this / plugin})
        .preloaded()
        .with("PKTMALLOC_VERBOSE", verbose)
        .run();
  }
};

Outcome extensions(const std::string& library, const std::string& zend_alloc) {
  const TemporaryFolder folder;
  Program php({"php", std::filesystem::absolute("tests/real/extensions.php")});
  php.in(folder.path()).with("USE_ZEND_ALLOC", zend_alloc);
  if (!library.empty()) php.with("LD_PRELOAD", build_path(library));
  return php.run();
}

}  // namespace

TEST_CASE("php computes the same with its shared extensions") {
  if (Program({"php", "-r", kExtensions}).run().status != 0)
    skip("php, or one of its extensions, is not installed");
  // 1: its own heap before malloc; 0: malloc for everything.
  for (const std::string zend_alloc : {"1", "0"}) {
    const Outcome expected = extensions("", zend_alloc);
    INFO("without: " << expected);
    REQUIRE(expected.status == 0);
    CHECK(expected.out.find("over a socket\n3\n") != std::string::npos);
    for (const std::string library : {"libpktmalloc.so", "libpktmalloc-checked.so"}) {
      const Outcome outcome = extensions(library, zend_alloc);
      INFO(library << ": " << outcome);
      CHECK(outcome.status == 0);
      CHECK(outcome.out == expected.out);
      CHECK(outcome.err == expected.err);
    }
  }
}

TEST_CASE("pktmalloc run starts php") {
  skip_without({"php"});
  const Outcome outcome = Program({build_path("pktmalloc"), "run", "php", "-r", "echo 7;"}).run();
  INFO(outcome);
  CHECK(outcome.out == "7");
  CHECK(outcome.status == 0);
}

TEST_CASE("python and a library that ctypes binds deeply free each other's memory") {
  for (const std::string library : {"libpktmalloc.so", "libpktmalloc-checked.so"}) {
    const Outcome outcome =
        Program({"/usr/bin/python3", "-c", kPython, build_path("tests/plugins/plain.so")})
            .with("LD_PRELOAD", build_path(library))
            .run();
    INFO(library << ": " << outcome);
    CHECK(outcome.out == "done\n");
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("PKTMALLOC_VERBOSE tells the first time that RTLD_DEEPBIND is ignored") {
  const Opener opener;
  const Outcome told = opener.open("dlopen", "plain.so", "1");
  INFO(told);
  CHECK(told.out == "the program's\n");
  const std::string line = "pktmalloc: dlopen ignores RTLD_DEEPBIND, here for " +
                           opener / "plain.so" + "; README, Limits, says how to keep it\n";
  const size_t at = told.err.find(line);
  CHECK(at != std::string::npos);
  CHECK(told.err.find("DEEPBIND", at + line.size()) == std::string::npos);
  CHECK(opener.open("dlopen", "plain.so").err.empty());
}

TEST_CASE("pktmalloc doctor tells that RTLD_DEEPBIND is, or would be, ignored") {
  const Opener opener;
  const Diagnosis before(doctor(opener / "opener"));
  INFO(before);
  CHECK(before.consistent());
  CHECK(before.says("It may load libraries while it runs: dlopen then ignores RTLD_DEEPBIND"));
  Running program({opener / "opener", "dlopen", opener / "plain.so", "wait"},
                  {{"LD_PRELOAD", library_path()}});
  program.line("the program's");
  const Diagnosis running(doctor(std::to_string(program.pid())));
  INFO(running);
  CHECK(running.consistent());
  CHECK(running.says("It asked dlopen for RTLD_DEEPBIND, which was ignored 2 times"));
  CHECK(!Diagnosis(doctor("true")).says("DEEPBIND"));
}

TEST_CASE("a library calls its own functions by -Bsymbolic, or by dlmopen and our library") {
  const Opener opener;
  opener.build("plugin.c -shared -fPIC -Wl,-Bsymbolic -o symbolic.so");
  opener.build("plugin.c -shared -fPIC -Wl,--no-as-needed -L" + build_path("") +
               " -lpktmalloc -Wl,-rpath," + build_path("") + " -o linked.so");
  for (const auto& [how, plugin] :
       {std::pair<std::string, std::string>{"dlopen", "symbolic.so"}, {"dlmopen", "linked.so"}}) {
    const Outcome outcome = opener.open(how, plugin);
    INFO(how << " " << plugin << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == "the plugin's\n");
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("a library preloaded behind us has the next dlopen, and may call ours before we start") {
  const Outcome outcome =
      Program({program_path("hello")}).preloaded(build_path("tests/plugins/early.so")).run();
  INFO(outcome);
  CHECK(outcome.out == "hello\n");
  CHECK(outcome.err.find("$ORIGIN/plain.so, flags 0x2\n") == 0);
}

TEST_CASE("a program linked with -static and the archive loads libraries as without") {
  TemporaryFolder folder;
  folder.write("program.c", kStatic);
  const std::string build = "gcc -static -O1 -fno-builtin " + (folder / "program.c") + " -o ";
  const std::string archive = build_path("libpktmalloc.a");
  const std::string alone = folder / "alone";
  if (Program({"sh", "-c", build + alone + " 2>/dev/null"}).run().status != 0)
    skip("there is no static libc");
  const Outcome expected = Program({alone}).run();
  REQUIRE(expected.status == 0);
  const std::string ways[] = {archive,
                              "-Wl,--whole-archive " + archive + " -Wl,--no-whole-archive"};
  for (const std::string& way : ways) {
    const std::string with = folder / "with";
    REQUIRE(Program({"sh", "-c", build + with + " " + way + " 2>/dev/null"}).run().clean());
    const Outcome outcome = Program({with}).run();
    INFO(way << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == expected.out);
  }
}

// SPDX-License-Identifier: MIT
#include "tools/command/doctor/runtime.h"

#include <filesystem>

namespace pktmalloc {
namespace {

constexpr struct {
  const char* name;     // how the program's name begins
  const char* library;  // or that of a library it is linked with
  Level level;
  const char* says;
  const char* advice;
} kRuntimes[] = {
    {"php", "libphp", Level::kProblem,
     "It is PHP, which loads its extensions with RTLD_DEEPBIND: they call glibc's free, not that "
     "of pktmalloc, also for memory that comes from it, and abort.",
     "Run it without pktmalloc; or without shared extensions (php -n), or with "
     "zend.dlopen_deepbind=Off where it has that."},
    {"java", "libjli.so", Level::kWarning,
     "It is Java: objects live in the virtual machine's own heap, only its native memory "
     "(compiler, direct buffers, native libraries) reaches pktmalloc.",
     "Use pktmalloc where native memory is what grows; the heap is set by -Xmx."},
    {"node", "libnode.so", Level::kWarning,
     "It is Node.js: objects live in V8's own heap, only native memory (buffers, addons) reaches "
     "pktmalloc.",
     "Use pktmalloc where native memory is what grows; the heap is set by --max-old-space-size."},
};

constexpr const char* kPythonPools =
    "It is Python, which serves objects up to 512 bytes from pools of its own: only larger ones "
    "reach pktmalloc.";

bool is(const ElfFile& elf, const std::string& name, const char* program, const char* library) {
  if (std::filesystem::path(name).filename().string().starts_with(program)) return true;
  for (const std::string& needed : elf.needed()) {
    if (needed.starts_with(library)) return true;
  }
  return false;
}

}  // namespace

Findings examine_runtime(const ElfFile& elf, const std::string& name,
                         const Environment& environment) {
  Findings all;
  if (is(elf, name, "python", "libpython")) {
    if (value_of(environment, "PYTHONMALLOC").starts_with("malloc")) {
      all.push_back({Level::kOk, "runtime",
                     "It is Python with PYTHONMALLOC=malloc: all its objects reach malloc.", ""});
    } else {
      all.push_back({Level::kWarning, "runtime", kPythonPools,
                     "Set PYTHONMALLOC=malloc to have all of them served."});
    }
  }
  for (const auto& r : kRuntimes) {
    if (is(elf, name, r.name, r.library)) all.push_back({r.level, "runtime", r.says, r.advice});
  }
  if (elf.has_section(".go.buildinfo")) {
    all.push_back({Level::kWarning, "runtime",
                   "It is a Go program: objects live in Go's own heap, only what C code in it "
                   "allocates (cgo) reaches pktmalloc.",
                   "Use pktmalloc where C code is what allocates; Go's heap is tuned by GOGC."});
  }
  return all;
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/doctor/runtime.h"

#include <fmt/core.h>

#include <filesystem>

namespace pktmalloc {
namespace {

constexpr struct {
  const char* program;  // how the program's name begins
  const char* library;  // or that of a library it is linked with
  const char* name;
  const char* says;
  const char* advice;
  // With this variable beginning so, all objects reach malloc.
  const char* variable = nullptr;
  const char* value = "";
} kRuntimes[] = {
    {"python", "libpython", "Python",
     "which serves objects up to 512 bytes from pools of its own: only larger ones reach pktmalloc",
     "Set PYTHONMALLOC=malloc to have all of them served.", "PYTHONMALLOC", "malloc"},
    {"php", "libphp", "PHP",
     "which serves the objects of scripts from a heap of its own: only what its libraries allocate "
     "(XML, SQLite, curl) reaches pktmalloc",
     "Set USE_ZEND_ALLOC=0 to have all of them served.", "USE_ZEND_ALLOC", "0"},
    {"java", "libjli.so", "Java",
     "whose objects live in the virtual machine's own heap: only its native memory (compiler, "
     "direct buffers, native libraries) reaches pktmalloc",
     "Use pktmalloc where native memory is what grows; the heap is set by -Xmx."},
    {"node", "libnode.so", "Node.js",
     "whose objects live in V8's own heap: only native memory (buffers, addons) reaches pktmalloc",
     "Use pktmalloc where native memory is what grows; the heap is set by --max-old-space-size."},
};

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
  for (const auto& r : kRuntimes) {
    if (!is(elf, name, r.program, r.library)) continue;
    if (r.variable != nullptr && value_of(environment, r.variable).starts_with(r.value)) {
      all.push_back({Level::kOk, "runtime",
                     fmt::format("It is {} with {}={}: all its objects reach malloc.", r.name,
                                 r.variable, r.value),
                     ""});
    } else {
      all.push_back(
          {Level::kWarning, "runtime", fmt::format("It is {}, {}.", r.name, r.says), r.advice});
    }
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

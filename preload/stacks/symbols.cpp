// SPDX-License-Identifier: MIT
#include "preload/stacks/symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/base/library_function.h"
#include "preload/base/options.h"
#include "preload/stacks/address_map.h"
#include "preload/stacks/symbol_table.h"

extern "C" {
// Set by the linker: where this library begins and ends.
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
}

namespace pktmalloc {
namespace {

// A name of n bytes takes the demangler about 70 n; longer ones stay as they are.
constexpr size_t kMostDemangled = 1000;

void write_name(Writer& out, const char* name, Demangler demangler) {
  char* text = nullptr;
  if (demangler != nullptr && strncmp(name, "_Z", 2) == 0 && strlen(name) <= kMostDemangled) {
    text = demangler(name, nullptr, nullptr, nullptr);
  }
  out.print("%s", text != nullptr ? text : name);
  free(text);
}

}  // namespace

Demangler find_demangler() {
  Demangler found = nullptr;
  find_in_runtime(found, "__cxa_demangle");
  return found;
}

bool in_this_library(uintptr_t pc) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(&__ehdr_start);
  const size_t bytes = reinterpret_cast<uintptr_t>(&_end) - begin;
  // Linked statically, it has no place of its own: all of this is the program.
  const bool is_program = getauxval(AT_PHDR) - begin < bytes;
  return !is_program && pc - begin < bytes;
}

// A return address may already belong to the next function.
Function function_at(uintptr_t pc) {
  Function found;
  Dl_info info;
  link_map* map;
  if (dladdr1(reinterpret_cast<void*>(pc - 1), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0) {
    return found;
  }
  const bool is_program = *map->l_name == '\0';  // the loader's name for it
  found.module = is_program ? program_name() : basename(map->l_name);
  found.path = map->l_name;
  found.module_begin = reinterpret_cast<uintptr_t>(info.dli_fbase);
  if (info.dli_sname != nullptr) {
    snprintf(found.name, sizeof found.name, "%s", info.dli_sname);
    found.begin = reinterpret_cast<uintptr_t>(info.dli_saddr);
  } else {
    found.begin = find_in_file(*map, info.dli_fbase, pc - 1, found.name, sizeof found.name);
  }
  return found;
}

void describe(Writer& out, uintptr_t pc, Detail detail, Demangler demangler) {
  const Function function = function_at(pc);
  if (function.module == nullptr) return out.print("%#zx", size_t{pc});
  const bool has_name = function.begin != 0;
  const size_t in_module = pc - function.module_begin;
  if (detail == Detail::kNames) {
    if (!has_name) return out.print("%s+%#zx", function.module, in_module);
    write_name(out, function.name, demangler);
    return out.print(" of %s", function.module);
  }
  write_name(out, has_name ? function.name : "unnamed", demangler);
  if (has_name) out.print("+%#zx", pc - function.begin);
  char program[256] = "";
  const char* path = function.path;
  if (*path == '\0') {
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    path = length > 0 ? program : function.module;
  }
  out.print(" (");
  out.put(path, strlen(path));
  out.print("+%#zx)", in_module);
}

const char* why_no_heap(const void* p, char* buffer, size_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  if (const Function around = function_at(address + 1); around.module != nullptr) {
    snprintf(buffer, bytes, "static data of %s", around.module);
    return buffer;
  }
  Stretch stretch;
  if (!find_stretch(address, stretch)) return nullptr;
  if (stretch.begin == 0) return "where nothing is mapped";
  if (stretch.main_stack) return "on the stack";
  if (!stretch.readable) return "where no access is allowed";
  // glibc keeps a thread's descriptor at the upper end of its stack.
  const uintptr_t here = reinterpret_cast<uintptr_t>(&stretch);
  return here <= address && address < pthread_self() &&
                 here - stretch.begin < stretch.end - stretch.begin
             ? "on the stack"
             : nullptr;
}

}  // namespace pktmalloc

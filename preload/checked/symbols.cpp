// SPDX-License-Identifier: MIT
#include "preload/checked/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/options.h"

extern "C" {
// By the linker: where this library begins and ends.
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
}

namespace pktmalloc::checked {
namespace {

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

// The loader calls the program by no name.
const char* module_name(const char* path) {
  return path == nullptr || *path == '\0' ? program_name() : base_name(path);
}

struct Search {
  uintptr_t address;
  const char* module;  // that has it in one of its segments
};

int look_into(dl_phdr_info* info, size_t, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD &&
        search.address - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
      search.module = module_name(info->dlpi_name);
      return 1;
    }
  }
  return 0;
}

struct Mapping {
  uintptr_t begin, end;
  bool main_stack;
};

// The line of /proc/self/maps that has the address; begin = 0: there is none. False if the file
// cannot be read.
bool find_mapping(uintptr_t address, Mapping& found) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  found = {};
  char text[2048];
  size_t held = 0;
  for (ssize_t got; (got = read(fd, text + held, sizeof text - 1 - held)) > 0;) {
    held += static_cast<size_t>(got);
    text[held] = '\0';
    char* line = text;
    for (char* end; (end = strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = '\0';
      char* rest;
      const uintptr_t begin = strtoull(line, &rest, 16);
      const uintptr_t stop = strtoull(rest + 1, nullptr, 16);
      if (address - begin >= stop - begin) continue;
      found = {begin, stop, strstr(line, "[stack]") != nullptr};
      close(fd);
      return true;
    }
    held -= static_cast<size_t>(line - text);
    memmove(text, line, held);
    if (held == sizeof text - 1) held = 0;  // a line that long has a path nobody needs
  }
  close(fd);
  return true;
}

}  // namespace

bool in_this_library(uintptr_t pc) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(&__ehdr_start);
  return pc - begin < reinterpret_cast<uintptr_t>(&_end) - begin;
}

const char* function_of(uintptr_t pc) {
  Dl_info info;
  const bool found = dladdr(reinterpret_cast<void*>(pc - 1), &info) != 0;
  return found && info.dli_sname != nullptr ? info.dli_sname : "";
}

// A return address may already belong to the next function.
void describe(uintptr_t pc, Detail detail, char* out, size_t bytes) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(pc - 1), &info) == 0) {
    snprintf(out, bytes, "%#zx", size_t{pc});
    return;
  }
  const char* module = module_name(info.dli_fname);
  const size_t in_module = pc - reinterpret_cast<uintptr_t>(info.dli_fbase);
  if (info.dli_sname == nullptr) {
    snprintf(out, bytes, "%s+%#zx", module, in_module);
  } else if (detail == Detail::kNames) {
    snprintf(out, bytes, "%s of %s", info.dli_sname, module);
  } else {
    const size_t in_function = pc - reinterpret_cast<uintptr_t>(info.dli_saddr);
    snprintf(out, bytes, "%s+%#zx (%s+%#zx)", info.dli_sname, in_function, module, in_module);
  }
}

const char* why_no_heap(const void* p, char* buffer, size_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  Search search{address, nullptr};
  dl_iterate_phdr(look_into, &search);
  if (search.module != nullptr) {
    snprintf(buffer, bytes, "static data of %s", search.module);
    return buffer;
  }
  Mapping mapping;
  if (!find_mapping(address, mapping)) return nullptr;
  if (mapping.begin == 0) return "where nothing is mapped";
  if (mapping.main_stack) return "on the stack";
  // glibc keeps a thread's descriptor at the upper end of its stack.
  const uintptr_t here = reinterpret_cast<uintptr_t>(&mapping);
  return here <= address && address < pthread_self() &&
                 here - mapping.begin < mapping.end - mapping.begin
             ? "on the stack"
             : nullptr;
}

}  // namespace pktmalloc::checked

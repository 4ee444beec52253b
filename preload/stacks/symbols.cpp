// SPDX-License-Identifier: MIT
#include "preload/stacks/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/base/library_function.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"

namespace pktmalloc {
namespace {

// A name of n bytes takes the demangler about 70 n; longer ones stay as they are.
constexpr size_t kMostDemangled = 1000;

void write_name(Writer& out, const char* name, Demangler demangler) {
  const bool mangled = strncmp(name, "_Z", 2) == 0 && strlen(name) <= kMostDemangled;
  char* const text =
      mangled && demangler != nullptr ? demangler(name, nullptr, nullptr, nullptr) : nullptr;
  out.print("%s", text != nullptr ? text : name);
  free(text);
}

// A file in memory. Everything it claims is checked before use.
class ElfFile {
 public:
  explicit ElfFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    struct stat status;
    if (status_of(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        static_cast<size_t>(status.st_size) >= sizeof(Elf64_Ehdr)) {
      bytes_ = static_cast<size_t>(status.st_size);
      start_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0));
      if (start_ == MAP_FAILED) bytes_ = 0;
    }
    close(fd);
  }
  ~ElfFile() {
    if (bytes_ > 0) munmap(start_, bytes_);
  }
  ElfFile(ElfFile&&) = delete;

  // The first page has the header, the segments and, as a rule, the build id.
  bool begins_as(const void* header) const {
    constexpr size_t kPage = 4096;
    return bytes_ > 0 && memcmp(start_, header, std::min(bytes_, kPage)) == 0;
  }

  // nullptr: not all of them are in the file.
  template <typename T>
  const T* array(uint64_t offset, uint64_t count) const {
    const bool inside = offset <= bytes_ && count <= (bytes_ - offset) / sizeof(T);
    return inside && offset % alignof(T) == 0 ? reinterpret_cast<const T*>(start_ + offset)
                                              : nullptr;
  }

 private:
  char* start_ = nullptr;
  size_t bytes_ = 0;
};

// The function at the address in a module, whose ELF header in memory is known: its name, cut to
// fit, and where it begins; 0: unknown. From the module's file, which has the names of local
// functions, too, which the loader does not know. A stripped file has none; a file other than the
// one loaded (replaced since, or unreadable) is not trusted. Maps the file while it searches;
// allocates nothing.
uintptr_t find_in_file(const link_map& module, const void* header_in_memory, uintptr_t address,
                       char* name, size_t bytes) {
  const ElfFile file(*module.l_name == '\0' ? "/proc/self/exe" : module.l_name);
  if (!file.begins_as(header_in_memory)) return 0;
  const Elf64_Ehdr& header = *file.array<Elf64_Ehdr>(0, 1);
  const auto* sections = file.array<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  for (unsigned i = 0; sections != nullptr && i < header.e_shnum; ++i) {
    const Elf64_Shdr& table = sections[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header.e_shnum) continue;
    const uint64_t count = table.sh_size / sizeof(Elf64_Sym);
    const auto* symbols = file.array<Elf64_Sym>(table.sh_offset, count);
    const Elf64_Shdr& strings = sections[table.sh_link];
    const char* text = file.array<char>(strings.sh_offset, strings.sh_size);
    if (symbols == nullptr || text == nullptr) return 0;
    const Elf64_Sym* const symbol =
        std::find_if(symbols, symbols + count, [&](const Elf64_Sym& at) {
          return ELF64_ST_TYPE(at.st_info) == STT_FUNC && at.st_shndx != SHN_UNDEF &&
                 address - module.l_addr - at.st_value < at.st_size;
        });
    if (symbol == symbols + count || symbol->st_name >= strings.sh_size) return 0;
    const size_t most = std::min(strings.sh_size - symbol->st_name, bytes);
    snprintf(name, bytes, "%.*s", static_cast<int>(most), text + symbol->st_name);
    return symbol->st_value + module.l_addr;
  }
  return 0;
}

// Of a line of /proc/self/maps: does the address lie there? Then `why` no heap can have it.
bool settles(const char* line, uintptr_t address, const char*& why) {
  char* rest;
  const uintptr_t begin = strtoull(line, &rest, 16);
  const uintptr_t end = strtoull(rest + 1, &rest, 16);
  if (address - begin >= end - begin) return false;
  // glibc keeps a thread's descriptor at the upper end of its stack.
  const uintptr_t here = reinterpret_cast<uintptr_t>(&rest);
  const bool on_stack = strstr(line, "[stack]") != nullptr ||
                        (here - begin < end - begin && here <= address && address < pthread_self());
  why = rest[1] != 'r' ? "where no access is allowed" : on_stack ? "on the stack" : nullptr;
  return true;
}

}  // namespace

Demangler find_demangler() {
  Demangler found = nullptr;
  find_in_runtime(found, "__cxa_demangle");
  return found;
}

bool in_this_library(uintptr_t pc) {
  // Linked statically, it has no place of its own: all of this is the program.
  return in_this_module(pc) && !in_this_module(getauxval(AT_PHDR));
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
  // The loader's name for the program is "".
  found.module = *map->l_name == '\0' ? program_name() : basename(map->l_name);
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
  if (*path == '\0')
    path = readlink("/proc/self/exe", program, sizeof program - 1) > 0 ? program : function.module;
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
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  const char* why = "where nothing is mapped";
  char text[2048];  // a longer line has a path that nobody needs
  size_t held = 0;
  bool settled = false;
  for (ssize_t got; !settled && (got = read(fd, text + held, sizeof text - held)) > 0;) {
    held += static_cast<size_t>(got);
    char* line = text;
    while (char* const behind = static_cast<char*>(memchr(line, '\n', held))) {
      *behind = '\0';
      settled = settled || settles(line, address, why);
      held -= static_cast<size_t>(behind + 1 - line);
      line = behind + 1;
    }
    memmove(text, line, held);
    if (held == sizeof text) held = 0;
  }
  close(fd);
  return why;
}

}  // namespace pktmalloc

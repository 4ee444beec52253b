// SPDX-License-Identifier: MIT
#include "tools/command/system/link_map.h"

#include <elf.h>
#include <link.h>

#include <climits>
#include <fstream>

#include "tools/command/system/remote_memory.h"

namespace pktmalloc {
namespace {

// More than any process has; a list that changes while it is read may be a circle.
constexpr int kObjectsMost = 10'000;

struct ProgramHeaders {
  uint64_t address = 0, count = 0;
};

ProgramHeaders program_headers(const Process& process) {
  std::ifstream file(process.file("auxv"), std::ios::binary);
  ProgramHeaders headers;
  for (Elf64_auxv_t entry; file.read(reinterpret_cast<char*>(&entry), sizeof entry);) {
    if (entry.a_type == AT_PHDR) headers.address = entry.a_un.a_val;
    if (entry.a_type == AT_PHNUM) headers.count = entry.a_un.a_val;
  }
  return headers;
}

// Where the program's dynamic section lies.
uint64_t dynamic_section(const Process& process, const RemoteMemory& memory) {
  const ProgramHeaders headers = program_headers(process);
  uint64_t dynamic = 0;
  uint64_t base = 0;
  for (uint64_t i = 0; i < headers.count; ++i) {
    const auto header = memory.load<Elf64_Phdr>(headers.address + i * sizeof(Elf64_Phdr));
    if (header.p_type == PT_PHDR) base = headers.address - header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) dynamic = header.p_vaddr;
  }
  return dynamic == 0 ? 0 : base + dynamic;
}

// The first of the list, by the address that the loader leaves for debuggers.
uint64_t first_object(const Process& process, const RemoteMemory& memory) {
  uint64_t at = dynamic_section(process, memory);
  for (int i = 0; at != 0 && i < kObjectsMost; ++i, at += sizeof(Elf64_Dyn)) {
    const auto entry = memory.load<Elf64_Dyn>(at);
    if (entry.d_tag == DT_NULL) return 0;
    if (entry.d_tag != DT_DEBUG) continue;
    return reinterpret_cast<uint64_t>(memory.load<r_debug>(entry.d_un.d_ptr).r_map);
  }
  return 0;
}

std::string text_at(const RemoteMemory& memory, uint64_t address) {
  std::string text;
  while (text.size() < PATH_MAX) {
    const char c = memory.load<char>(address + text.size());
    if (c == '\0') break;
    text += c;
  }
  return text;
}

}  // namespace

std::vector<std::string> loaded_objects(const Process& process) {
  const ProcessMemory memory(process.pid(), process.thread());
  std::vector<std::string> paths;
  uint64_t at = first_object(process, memory);
  for (int i = 0; at != 0 && i < kObjectsMost; ++i) {
    const auto object = memory.load<link_map>(at);
    paths.push_back(i == 0 ? process.executable()
                           : text_at(memory, reinterpret_cast<uint64_t>(object.l_name)));
    at = reinterpret_cast<uint64_t>(object.l_next);
  }
  return paths;
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "preload/recording/profile.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <span>

#include "preload/base/mapping.h"
#include "preload/base/options.h"
#include "preload/formats/format.h"
#include "preload/recording/recording.h"
#include "sizeclass/base/arithmetic.h"

namespace pktmalloc {
namespace {

// A module's code, as lines of /proc/PID/maps, and its build id by where that begins. To memory,
// because the loader holds a lock meanwhile.
int write_module(dl_phdr_info* info, size_t, void* argument) {
  Writer& out = *static_cast<Writer*>(argument);
  char program[PATH_MAX] = "";
  const char* path = info->dlpi_name;
  if (*path == '\0' && readlink("/proc/self/exe", program, sizeof program - 1) > 0) path = program;
  // The loader keeps a path as it was given: from the folder of the start, unless the program left.
  const char* const folder = *path != '/' && strchr(path, '/') != nullptr ? start_folder() : "";
  const std::span segments(info->dlpi_phdr, info->dlpi_phnum);
  uint64_t code = 0;
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    const uint64_t page = begin & ~uint64_t{4095};
    if (code == 0) code = page;
    out.print("%llx-%llx r-xp %08llx 00:00 0 ", number(page),
              number(round_up(begin + segment.p_memsz, 4096)),
              number(segment.p_offset - (begin - page)));
    out.put(folder, strlen(folder));
    out.put("/", *folder != '\0' ? 1 : 0);
    out.put(path, strlen(path));
    out.put("\n", 1);
  }
  for (const auto& segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* const name = at + sizeof note;
      const char* const id = name + round_up(note.n_namesz, 4);
      at = id + round_up(note.n_descsz, 4);
      if (at > end) break;
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp(name, "GNU", 4) != 0)
        continue;
      out.print("# build-id %llx ", number(code));
      for (unsigned n = 0; n < note.n_descsz; ++n) {
        out.print("%02x", static_cast<unsigned char>(id[n]));
      }
      out.print("\n");
    }
  }
  return 0;
}

int look_at_changes(dl_phdr_info* info, size_t, void* changes) {
  *static_cast<uint64_t*>(changes) = info->dlpi_adds + info->dlpi_subs;
  return 1;
}

constinit std::atomic<uint64_t> changes_recorded = 0;
constinit std::atomic<bool> busy = false;  // one thread notes them; the next sample may again

}  // namespace

void write_mapped_files(Writer& out) {
  const Mapped<char[1 << 20]> text;
  if (!text) return;
  Writer in_memory(*text, sizeof *text);
  dl_iterate_phdr(write_module, &in_memory);
  in_memory.finish();
  out.put(*text, strlen(*text));
}

void record_mapped_files() {
  recording::Header* const header = recording_here();
  if (header == nullptr) return;
  uint64_t changes = 0;
  dl_iterate_phdr(look_at_changes, &changes);
  if (changes == changes_recorded.load(std::memory_order_relaxed)) return;
  if (busy.exchange(true, std::memory_order_acquire)) return;
  static void* chunks[2];
  uint32_t& bytes = header->mappings.next();
  const auto place = static_cast<uint32_t>(&bytes - header->mappings.places);
  if (chunks[place] == nullptr) chunks[place] = add_chunk(recording::ChunkKind::kMappings, place);
  if (chunks[place] != nullptr) {
    Writer out(static_cast<char*>(chunks[place]), recording::kChunkBytes);
    dl_iterate_phdr(write_module, &out);
    out.finish();
    bytes = static_cast<uint32_t>(std::min(out.length(), recording::kChunkBytes - 1));
    header->mappings.advance();
  }
  changes_recorded.store(changes, std::memory_order_relaxed);
  busy.store(false, std::memory_order_release);
}

}  // namespace pktmalloc

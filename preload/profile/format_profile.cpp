// SPDX-License-Identifier: MIT
// The heap profile in the text format of gperftools ("heapprofile"), which Google's pprof and
// Debian's google-pprof read. The numbers already estimate the whole, so neither scales them: a
// reader that knows only a stack's sums could not do it without bias.
//
// Comments, which both skip, hold the rest: behind each stack the number of samples and the
// standard errors of its bytes; behind the mappings the build ids of the files, by the address
// where the executable mapping begins. tools/command/heap_profile.cpp reads all of it.
#include "preload/profile/format_profile.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "preload/base/mapping.h"
#include "preload/base/options.h"
#include "preload/contract/format.h"
#include "preload/contract/pktmalloc.h"
#include "preload/profile/profile.h"
#include "sizeclass/rounding.h"

namespace pktmalloc {
namespace {

// Anything there is at least one object: readers refuse bytes without any.
uint64_t objects(double n, uint64_t samples) {
  return samples == 0 ? 0 : std::max<uint64_t>(rounded(n), 1);
}

void write_sums(Writer& out, const ProfileSums& s) {
  out.print("%llu: %llu [%llu: %llu] @", number(objects(s.live_objects, s.live_samples)),
            number(rounded(s.live_bytes)), number(objects(s.objects, s.samples)),
            number(rounded(s.bytes)));
}

void write_stack(Writer& out, const ProfileSums& s) {
  if (s.samples == 0) return;
  write_sums(out, s);
  uintptr_t frames[kStackFrames];
  const unsigned count = profile_frames(s.stack, frames);
  for (unsigned i = 0; i < count; ++i) out.print(" %#zx", size_t{frames[i]});
  if (count == 0) out.print(" 0x1");  // unknown
  out.print("\n# samples %llu %llu errors %llu %llu\n", number(s.live_samples), number(s.samples),
            number(rounded(square_root(s.live_variance))),
            number(rounded(square_root(s.variance))));
}

// The executable lines of /proc/self/maps.
void write_mappings(Writer& out) {
  using Text = char[2 * 4096 + 256];  // a line holds a path
  const Mapped<Text> mapped;
  if (!mapped) return;
  Text& text = *mapped;
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  size_t held = 0;
  for (ssize_t got; (got = read(fd, text + held, sizeof text - held)) > 0;) {
    held += static_cast<size_t>(got);
    char* line = text;
    for (char* end; (end = static_cast<char*>(memchr(line, '\n', held))) != nullptr;) {
      const size_t length = static_cast<size_t>(end + 1 - line);
      const char* const rights = static_cast<char*>(memchr(line, ' ', length));
      if (rights != nullptr && rights[3] == 'x') out.put(line, length);
      line += length;
      held -= length;
    }
    memmove(text, line, held);
  }
  close(fd);
}

// Writes to memory, because the loader holds a lock meanwhile.
int write_build_id(dl_phdr_info* info, size_t, void* argument) {
  Writer& out = *static_cast<Writer*>(argument);
  uintptr_t code = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && code == 0) {
      code = (info->dlpi_addr + segment.p_vaddr) & ~uintptr_t{4095};
    }
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* const name = at + sizeof note;
      const char* const id = name + round_up(note.n_namesz, 4);
      at = id + round_up(note.n_descsz, 4);
      if (at > end) break;
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp(name, "GNU", 4) != 0) {
        continue;
      }
      out.print("# build-id %zx ", size_t{code});
      for (unsigned n = 0; n < note.n_descsz; ++n) {
        out.print("%02x", static_cast<unsigned char>(id[n]));
      }
      out.print("\n");
    }
  }
  return 0;
}

void write_build_ids(Writer& out) {
  using Text = char[1 << 20];
  const Mapped<Text> text;
  if (!text) return;
  Writer in_memory(*text, sizeof *text);
  dl_iterate_phdr(write_build_id, &in_memory);
  in_memory.finish();
  out.put(*text, strlen(*text));
}

}  // namespace

void write_profile(Writer& out) {
  const uint32_t end = profile_stacks();
  ProfileSums all{};
  for (uint32_t i = 1; i < end; ++i) all += profile_sums(i);
  out.print("heap profile: ");
  write_sums(out, all);
  out.print(" heapprofile\n# pktmalloc %s: %s, process %d\n", PKTMALLOC_VERSION, program_name(),
            getpid());
  out.print("# rate %llu lost %llu\n", number(options().profile_rate), number(profile_lost()));
  for (uint32_t i = 1; i < end; ++i) write_stack(out, profile_sums(i));
  out.print("\nMAPPED_LIBRARIES:\n");
  write_mappings(out);
  write_build_ids(out);
  out.print("# end\n");  // a file without it was cut off
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/doctor/presence.h"

#include <filesystem>

#include "preload/formats/statistics.h"
#include "tools/command/failure.h"
#include "tools/command/live/live_counters.h"
#include "tools/command/live/live_window.h"
#include "tools/command/system/library.h"

namespace pktmalloc {
namespace {

Presence mapped_library(const Process& process) {
  constexpr const char* kDeleted = " (deleted)";
  Presence presence;
  for (const Mapping& m : process.mappings()) {
    if (!is_our_library(m.path)) continue;
    presence.path = m.path.substr(0, m.path.rfind(kDeleted));
    presence.replaced = m.path.ends_with(kDeleted);
    break;
  }
  return presence;
}

}  // namespace

std::optional<Presence> find_presence(const Process& process) {
  Presence presence = mapped_library(process);
  const RunningImage image(process.pid(), process.thread());
  const RemoteMemory& memory = image.memory();
  try {
    const WindowPlace place = find_window(image);
    if (!place.library) return std::nullopt;
    presence.linked = presence.path.empty();
    if (place.address != 0) presence.window = memory.load<Window>(place.address);
  } catch (const Failure& failure) {
    if (presence.path.empty()) throw;
    presence.unreadable = failure.what();
  }
  if (presence.linked) presence.path = std::filesystem::read_symlink(process.executable());
  const Window& w = presence.window;
  if (w.magic == kWindowMagic && w.schema == kWindowSchema && w.heap.classes != 0) {
    Snapshot snapshot{};
    read_counters(w, memory, snapshot);
    presence.allocated = snapshot.process.allocs;
    for (unsigned i = 0; i < snapshot.heap.classes; ++i) {
      presence.classes += snapshot.heap.of[i].allocs != 0;
    }
  }
  return presence;
}

}  // namespace pktmalloc

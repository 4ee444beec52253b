// SPDX-License-Identifier: MIT
#include "tools/command/heap/subject.h"

#include <algorithm>

#include "tools/command/failure.h"
#include "tools/command/heap/roots.h"

namespace pktmalloc {
namespace {

// Memory that a process shares with its children, for whom the system does not tell which pages
// there are, or has asked it to keep from them (MADV_DONTFORK).
std::vector<Mapping> not_copied(std::vector<Mapping> all, const std::vector<Mapping>& copied) {
  std::erase_if(all, [&](const Mapping& m) {
    return !m.shared && std::any_of(copied.begin(), copied.end(), [&](const Mapping& other) {
      return other.start <= m.start && m.start < other.end;
    });
  });
  return all;
}

}  // namespace

Subject::Subject(const std::string& what, const std::function<void()>& opened) {
  if (const pid_t pid = process_id(what); pid != 0) {
    process_ = std::make_unique<LiveProcess>(pid, opened);
    window_ = process_->window();
    return;
  }
  core_ = std::make_unique<CoreFile>(what);
  uint64_t address = 0;
  window_ = find_and_load_window(*core_, address);
}

const Image& Subject::image() const { return core_ ? *core_ : process_->image(); }

pid_t Subject::pid() const { return core_ ? core_->pid() : process_->pid(); }

Look Subject::look(RemoteHeap& heap, double most_ms) const {
  if (process_) return look_at(heap, process_->pid(), most_ms);
  return look_at_core(heap);
}

Look Subject::look_at_core(RemoteHeap& heap) const {
  Look look;
  look.core = true;
  look.amid_change = !heap.copy(false);
  if (look.amid_change) heap.copy(true);
  heap.find_live();
  return look;
}

// What fails because the process ends meanwhile may fail for a thread or a copy of it.
Look Subject::look_whole(RemoteHeap& heap, Whole& whole, bool waits) const try {
  if (core_) {
    const Look look = look_at_core(heap);
    whole.copy = std::make_unique<HeapCopy>(heap, *core_);
    whole.sampled = SampledObjects(window_.profile, *core_);
    whole.sampled.copy_contents(*core_);
    whole.roots =
        find_roots(heap, whole.sampled, *core_, core_->mappings(), core_->registers(), "");
    return look;
  }
  return look_at(heap, pid(), kAsLongAsItTakes, [&](StandingProcess& process) {
    const std::vector<Registers> registers = process.registers();
    const Process own(process.threads().front(), pid());
    const ProcessMemory own_memory(pid(), own.pid());
    whole.sampled = SampledObjects(window_.profile, own_memory);
    const pid_t child = waits ? 0 : process.copy_memory();
    if (child == 0) {
      whole.copy = std::make_unique<HeapCopy>(heap, own_memory);
      whole.sampled.copy_contents(own_memory);
      whole.roots = find_roots(heap, whole.sampled, own_memory, own.mappings(), registers,
                               own.file("pagemap"));
      return;
    }
    const Process copied(child, pid());
    std::vector<Mapping> mappings = copied.mappings();
    whole.roots = find_roots(heap, whole.sampled, own_memory, not_copied(own.mappings(), mappings),
                             registers, own.file("pagemap"));
    process.let_go();
    std::erase_if(mappings, [](const Mapping& m) { return m.shared; });
    const OpenMemory memory(child, pid());
    whole.copy = std::make_unique<HeapCopy>(heap, memory);
    whole.sampled.copy_contents(memory);
    const std::vector<uint64_t> more =
        find_roots(heap, whole.sampled, memory, mappings, registers, copied.file("pagemap"));
    whole.roots.insert(whole.roots.end(), more.begin(), more.end());
  });
} catch (const Failure&) {
  check_alive();
  throw;
}

void Subject::check_alive() const {
  if (process_) process_->check_alive();
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// SampledObjects: the live objects that the heap profile of another process samples, and the places
// that allocated them. The next allocator serves samples, so they lie in no slab. Whatever is known
// here of the library's tables changes with the schema of the window.
#pragma once

#include <cstdint>
#include <vector>

#include "preload/formats/heap_profile.h"
#include "preload/formats/live_window.h"
#include "tools/command/heap/remote_heap.h"
#include "tools/command/system/remote_memory.h"

namespace pktmalloc {

struct SampledObject {
  static constexpr unsigned kNoClassOf = ~0U;
  uint64_t address, bytes;
  uint32_t place;     // a number
  unsigned of;        // the class that would have served it, from 0; kNoClassOf: none
  uint64_t words_at;  // where its contents begin in the copy
};

class SampledObjects {
 public:
  SampledObjects() = default;  // none
  // Of a process that stands still, or of a core file.
  SampledObjects(const ProfileWindow& window, const RemoteMemory& memory);
  // What is in them.
  void copy_contents(const RemoteMemory& memory);

  const std::vector<SampledObject>& all() const { return all_; }  // by address
  // From the first to the end of the last, which counts, too.
  RemoteHeap::Range span() const;
  // That holds the address; nullptr: none.
  const SampledObject* at(uint64_t address) const;
  const uint64_t* words(const SampledObject& object) const { return &words_[object.words_at]; }
  // They themselves, and the table of their addresses: nothing there is a root.
  std::vector<RemoteHeap::Range> own_memory() const;
  // What the profile thinks that a place holds.
  Amount held(uint32_t place, const RemoteMemory& memory) const;
  // Return addresses of the place's calls, innermost first.
  std::vector<uint64_t> frames(uint32_t place, const RemoteMemory& memory) const;

 private:
  ProfileWindow window_{};
  RemoteHeap::Range table_{};
  std::vector<SampledObject> all_;
  std::vector<uint64_t> words_;
};

}  // namespace pktmalloc

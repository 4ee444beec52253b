// SPDX-License-Identifier: MIT
// Dress: where the program's bytes are in an object of a process, which may have the checked
// library; that puts a header in front of them (preload/checked/object.h).
#pragma once

#include <cstdint>
#include <optional>

#include "preload/formats/library_kind.h"
#include "tools/command/heap/object_heads.h"

namespace pktmalloc {

// Enough of an object to find them, for most objects.
inline constexpr uint32_t kDressBytes = 32;

// Bytes from the object's start to the program's. Nothing: the program has freed it, and it waits.
std::optional<uint32_t> program_bytes_at(LibraryKind kind, const ObjectHead& head,
                                         const RemoteMemory& memory, uint32_t object_bytes);

// Those that the program has freed do not count as live any more.
void forget_waiting(LibraryKind kind, RemoteHeap& heap, const RemoteMemory& memory);

}  // namespace pktmalloc

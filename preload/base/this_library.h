// SPDX-License-Identifier: MIT
// This library: which of its kinds is being compiled.
#pragma once

#include "preload/formats/library_kind.h"

namespace pktmalloc {

inline constexpr LibraryKind kThisLibrary = PKTMALLOC_CHECKED    ? LibraryKind::kChecked
                                            : PKTMALLOC_HARDENED ? LibraryKind::kHardened
                                                                 : LibraryKind::kNormal;

}  // namespace pktmalloc

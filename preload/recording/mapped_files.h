// SPDX-License-Identifier: MIT
// Mapped files: what gives the addresses of a heap profile a meaning. Allocates nothing.
#pragma once

#include "preload/formats/writer.h"

namespace pktmalloc {

// The program and its libraries: where their code is mapped, and their build ids.
void write_mapped_files(Writer& out);

// Notes the program and its libraries in the recording, if there is one and they are others than at
// the last call. Opens no file: any thread may call it at any moment outside our locks.
void record_mapped_files();

}  // namespace pktmalloc

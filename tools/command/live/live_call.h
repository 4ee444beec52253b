// SPDX-License-Identifier: MIT
// LiveCall: has a running process open the control that it was started without: the next of its
// threads that comes by for memory does so (sizeclass/heap/due.h). It needs the right to trace it.
#pragma once

#include <string>

#include "tools/command/system/process.h"

namespace pktmalloc {

// What speaks against it, from "it" on; "": nothing that can be seen from outside.
std::string objection_to_call(const Process& process);

// Throws Failure: it must not be called, or cannot be.
void call(const Process& process);

}  // namespace pktmalloc

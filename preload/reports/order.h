// SPDX-License-Identifier: MIT
// Order: what `pktmalloc tell` may ask for, and how it is done.
#pragma once

#include "preload/formats/writer.h"

namespace pktmalloc {

// Does what the text orders, which may be anything; changes it. `out` gets what became of it, for
// people; false: nothing did. One thread at a time, none of the program's.
bool obey(char* order, Writer& out);

}  // namespace pktmalloc

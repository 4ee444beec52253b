// SPDX-License-Identifier: MIT
// Interruption: Ctrl-C and its like end what is under way, and what was found before is printed.
#pragma once

namespace pktmalloc {

// From now on SIGINT, SIGTERM and SIGHUP interrupt waits, as the end of a child does, and no more.
void expect_interruption();
bool is_interrupted();

}  // namespace pktmalloc

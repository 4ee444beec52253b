// SPDX-License-Identifier: MIT
// Is what was to be preloaded there?
#pragma once

#include <string>

namespace pktmalloc {

// In the process that was started with `library` preloaded, "" for none: the loader only warns of
// one that it cannot load. Throws Failure when it is not there.
void check_preloaded(const std::string& library);

}  // namespace pktmalloc

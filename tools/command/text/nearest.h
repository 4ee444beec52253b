// SPDX-License-Identifier: MIT
// nearest(): what someone who mistyped an option may have meant.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

// The one of `options` that is like the word, or begins with it; "" when there is none.
std::string nearest(const std::string& word, const std::vector<std::string>& options);

}  // namespace pktmalloc

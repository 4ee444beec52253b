// SPDX-License-Identifier: MIT
// PlaceCalls: the calls that led to the places of a heap profile in another process, by name.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/command/heap/sampled_objects.h"
#include "tools/command/profile/frame_name.h"
#include "tools/command/system/image.h"

namespace pktmalloc {

using Calls = std::vector<FrameName>;  // innermost first

// Of each of these places, in their order; of place 0 none. `lines`: with source lines and inlined
// functions, for which other programs are asked.
std::vector<Calls> place_calls(const std::vector<uint32_t>& places, const Image& image,
                               const SampledObjects& sampled, bool lines);

// The innermost: a line each, from the column on; and as an array.
std::string calls_text(const Calls& calls, unsigned column);
nlohmann::ordered_json calls_json(const Calls& calls);

}  // namespace pktmalloc

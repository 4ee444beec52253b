// SPDX-License-Identifier: MIT
// Passed memory: what the next allocator holds, counted against the heap's limit while there is
// a limit. Bytes are usable bytes of objects.
//
// What the program has freed stays with the next allocator until that is trimmed, so it stays
// counted until then; later requests are taken to reuse it. Any thread.
#pragma once

#include <cstddef>

namespace pktmalloc {

// Before a request. False: the limit would be exceeded.
bool take_passed(size_t bytes);

// After it: of `taken` bytes, which are counted, the object has `got`, perhaps more; 0 if it was
// refused.
void settle_passed(size_t taken, size_t got);

// After a release.
void release_passed(size_t bytes);

// Before the next allocator is trimmed.
void give_passed();

// Is the soft limit exceeded, and so much free that trimming pays?
bool should_trim_passed();

}  // namespace pktmalloc

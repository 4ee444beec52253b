// SPDX-License-Identifier: MIT
// What instrumented code references while one thread plays many processors.
//
// Code that is compiled with -fsanitize=thread announces each of its references to memory; here
// they do not go to ThreadSanitizer but to the caches of the processor that acts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/bench/simulated/coherence.h"

namespace simulated {

// Whose references follow; those of nobody are not counted.
enum class Part : std::uint8_t { kNobody, kLibrary, kProgram };

struct Counts {
  Crossings heap;       // of the library: the heap's own words
  Crossings elsewhere;  // of the library: magazines, records of slabs, caches
  Crossings program;    // of the program: its objects
};

// The heap's words lie in `bytes` from `heap`; the calling thread's stack is not counted.
void begin_to_watch(Coherence& coherence, const void* heap, std::size_t bytes);
// While it lives, references are this processor's; then nobody's.
class Acting {
 public:
  Acting(Part part, unsigned processor);
  ~Acting();
  Acting(const Acting&) = delete;
  Acting& operator=(const Acting&) = delete;
};
Counts& counts();

}  // namespace simulated

// SPDX-License-Identifier: MIT
#include "preload/recording/observer.h"

#include <bit>

#include "preload/process/thread.h"
#include "preload/recording/size_recording.h"
#include "preload/recording/trace.h"

namespace pktmalloc {

void tell_allocated(void* p, size_t bytes, size_t alignment, bool is_zeroed) {
  if (p == nullptr || this_thread.forking) return;
  size_allocated(p, bytes, alignment);
  if (alignment == 0 && !is_zeroed) return trace_call({trace::kAllocation, p, bytes});
  const unsigned log2 = static_cast<unsigned>(std::countr_zero(alignment));
  trace_call({trace::kSpecialAllocation, p, bytes,
              is_zeroed ? unsigned{trace::kZeroed} : trace::kAligned + log2});
}

void tell_released(void* p, bool is_moving) {
  if (this_thread.forking) return;
  size_released(p);
  trace_call({is_moving ? trace::kMove : trace::kRelease, p});
}

void tell_resized(void* from, void* p, size_t bytes, bool was_moving) {
  if (this_thread.forking) return;
  size_allocated(p, bytes, 0);
  if (!was_moving) size_released(from);
  const trace::Special special = was_moving ? trace::kMoved : trace::kResized;
  trace_call({trace::kSpecialAllocation, p, bytes, special, from});
}

}  // namespace pktmalloc

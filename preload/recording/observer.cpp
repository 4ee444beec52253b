// SPDX-License-Identifier: MIT
#include "preload/recording/observer.h"

#include "preload/process/thread.h"
#include "preload/recording/size_recording.h"
#include "preload/recording/trace.h"

namespace pktmalloc {

void tell_allocated(void* p, size_t bytes, size_t alignment) {
  if (p == nullptr || this_thread.forking) return;
  size_allocated(p, bytes, alignment);
  trace_allocated(p, bytes, alignment);
}

void tell_zeroed(void* p, size_t bytes) {
  if (p == nullptr || this_thread.forking) return;
  size_allocated(p, bytes, 0);
  trace_zeroed(p, bytes);
}

void tell_released(void* p) {
  if (this_thread.forking) return;
  size_released(p);
  trace_released(p);
}

void tell_moving(void* p) {
  if (this_thread.forking) return;
  size_released(p);
  trace_moving(p);
}

void tell_resized(void* from, void* p, size_t bytes, bool was_moving) {
  if (this_thread.forking) return;
  size_allocated(p, bytes, 0);
  if (!was_moving) size_released(from);
  trace_resized(from, p, bytes, was_moving);
}

void tell_asked() {
  if (!this_thread.forking) size_asked();
}

}  // namespace pktmalloc

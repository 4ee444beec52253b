// SPDX-License-Identifier: MIT
#include "preload/observers/observer.h"

#include "preload/process/thread.h"

namespace pktmalloc {

namespace {

constexpr unsigned kMost = 2;
const Observer* observers[kMost];
unsigned count = 0;

template <typename Call>
void each(Call call) {
  for (unsigned i = 0; i < count; ++i) call(*observers[i]);
}

}  // namespace

void observe(const Observer& observer) {
  observers[count++] = &observer;
  observing = true;
  for (uint32_t& bytes : in_place_bytes) bytes = 0;
  publish(this_thread.cache);
}

void tell_allocated(void* p, size_t bytes, size_t alignment) {
  if (p == nullptr || this_thread.forking) return;
  each([&](const Observer& o) { o.allocated(p, bytes, alignment); });
}

void tell_released(void* p) {
  if (this_thread.forking) return;
  each([&](const Observer& o) { o.released(p); });
}

void tell_zeroed(void* p, size_t bytes) {
  if (p == nullptr || this_thread.forking) return;
  each([&](const Observer& o) {
    o.zeroed != nullptr ? o.zeroed(p, bytes) : o.allocated(p, bytes, 0);
  });
}

void tell_moving(void* p) {
  if (this_thread.forking) return;
  each([&](const Observer& o) { o.moving != nullptr ? o.moving(p) : o.released(p); });
}

void tell_resized(void* from, void* p, size_t bytes, bool was_moving) {
  if (this_thread.forking) return;
  each([&](const Observer& o) {
    if (o.resized != nullptr) return o.resized(from, p, bytes, was_moving);
    o.allocated(p, bytes, 0);
    if (!was_moving) o.released(from);
  });
}

}  // namespace pktmalloc

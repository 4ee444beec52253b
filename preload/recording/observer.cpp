// SPDX-License-Identifier: MIT
#include "preload/recording/observer.h"

#include <algorithm>
#include <atomic>

#include "preload/process/thread.h"

namespace pktmalloc {

namespace {

constexpr unsigned kMost = 2;
const Observer* observers[kMost];  // they stay
constinit std::atomic<unsigned> count = 0;
unsigned wanting = 0;  // of them that need to see calls

template <typename Call>
void each(Call call) {
  if (this_thread.forking) return;
  const unsigned all = count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < all; ++i) call(*observers[i]);
}

void add(const Observer& observer) {
  const unsigned all = count.load(std::memory_order_relaxed);
  if (std::find(observers, observers + all, &observer) != observers + all) return;
  observers[all] = &observer;
  count.store(all + 1, std::memory_order_release);
}

}  // namespace

void observe(const Observer& observer) {
  add(observer);
  ++wanting;
  allow_resize_in_place(false);
  observing.store(true, std::memory_order_release);
  publish(this_thread.cache);
}

void end_observation() {
  if (--wanting > 0) return;
  observing.store(false, std::memory_order_relaxed);
  allow_resize_in_place(true);
}

void tell_allocated(void* p, size_t bytes, size_t alignment) {
  if (p == nullptr) return;
  each([&](const Observer& o) { o.allocated(p, bytes, alignment); });
}

void tell_released(void* p) {
  each([&](const Observer& o) { o.released(p); });
}

void tell_zeroed(void* p, size_t bytes) {
  if (p == nullptr) return;
  each([&](const Observer& o) {
    o.zeroed != nullptr ? o.zeroed(p, bytes) : o.allocated(p, bytes, 0);
  });
}

void tell_moving(void* p) {
  each([&](const Observer& o) { o.moving != nullptr ? o.moving(p) : o.released(p); });
}

void tell_resized(void* from, void* p, size_t bytes, bool was_moving) {
  each([&](const Observer& o) {
    if (o.resized != nullptr) return o.resized(from, p, bytes, was_moving);
    o.allocated(p, bytes, 0);
    if (!was_moving) o.released(from);
  });
}

void tell_asked() {
  each([](const Observer& o) {
    if (o.asked != nullptr) o.asked();
  });
}

}  // namespace pktmalloc

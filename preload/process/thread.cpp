// SPDX-License-Identifier: MIT
#include "preload/process/thread.h"

namespace pktmalloc {

constinit thread_local Thread this_thread{const_cast<Cache*>(&kNullCache),
                                          const_cast<Cache*>(&kNullCache),
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          false,
                                          false,
                                          false,
                                          nullptr};
constinit std::atomic<bool> observing = false;

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// Checks: what the life of the process means for the checked library (preload/checked/life.cpp). In
// the normal library it means nothing.
#pragma once

namespace pktmalloc {

#if PKTMALLOC_CHECKED
void checks_start();  // with the heap: tables
void checks_load();   // once the options are known and libraries may be loaded
void checks_thread_exit();
void checks_exit();  // the last look at everything
void checks_lock();  // around fork: all locks of the checks, and no unwinding
void checks_unlock();
#else
inline void checks_start() {}
inline void checks_load() {}
inline void checks_thread_exit() {}
inline void checks_exit() {}
inline void checks_lock() {}
inline void checks_unlock() {}
#endif

}  // namespace pktmalloc

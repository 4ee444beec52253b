// SPDX-License-Identifier: MIT
// Other stack: one stack of the library's own, for what a signal's handler must do although the
// program gave it 8 KiB. One user at a time.
#pragma once

namespace pktmalloc {

// At load.
void make_other_stack();

// Calls run(argument) there, or right here if another thread has the stack or there is none.
void run_on_other_stack(void (*run)(void*), void* argument);

}  // namespace pktmalloc

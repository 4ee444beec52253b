// SPDX-License-Identifier: MIT
// Other stack: one stack of the library's own, for what a signal's handler must do although the
// program gave it 8 KiB. One user at a time.
#pragma once

namespace pktmalloc {

// Once.
void make_other_stack();

// Calls run(argument, has_room) there, or right here, without room, if another thread has the stack
// or there is none.
void run_on_other_stack(void (*run)(void*, bool has_room), void* argument);

}  // namespace pktmalloc

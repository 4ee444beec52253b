// SPDX-License-Identifier: MIT
// Player: plays a plan with the malloc and free of its own process, and measures them.
//
// Its memory is laid out and touched before the clock starts, and none of it comes from malloc, so
// what is measured is the allocator and what the kernel does for it. The first byte of each page of
// an object is written: programs use what they ask for.
#pragma once

namespace pktmalloc {

// In a process of its own, which has one thread; the result is left in the plan. Throws Failure.
void play(int plan_descriptor);

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// Control: obeys orders from outside (PKTMALLOC_CONTROL, formats/control.h), of the same user and
// of root only. The reporter's thread does that: no thread of the program is stopped, interrupted
// or asked.
//
// The sockets lie in that thread's own table of descriptors, so a program that closes whatever it
// finds, or uses up its descriptors, changes nothing; nor does a child or another program inherit
// them. A few clients may be connected; one that says nothing keeps nobody waiting, and goes when
// others come.
#pragma once

#include <cstdint>

#include "preload/formats/writer.h"

namespace pktmalloc {

// The following two: one thread, with a table of descriptors of its own, which it closes in the
// end. False, after a line, if it cannot be.
bool open_control();
// Waits for so long, or until knock_at_control(), and does what is ordered.
void serve_control(int ms);

// What serve_control() does (order.cpp): what the text orders, which may be anything; changes it.
// `out` gets what became of it, for people; false: nothing did. One thread at a time, none of the
// program's.
bool obey(char* order, Writer& out);

// Any thread, as what follows.
void knock_at_control();

// Has that process look for leaks in this one. The status that this one is to end with; 0: its own.
uint8_t ask_for_leaks(int pid);

}  // namespace pktmalloc

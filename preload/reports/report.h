// SPDX-License-Identifier: MIT
// Report: when to write statistics, the heap profile and the record of sizes, and where: to stderr
// or into a file (report_file.h). At load it keeps stderr for programs that close their own before
// the end; at exit it writes what the options ask for. Nothing here allocates. If a file cannot be
// written, one line says so, and nothing changes for the program.
//
// A moment (moment.cpp) is the statistics of this process at one time. Some are noted in the
// recording (recording/recording.h) while it lives, because it may end without a word.
#pragma once

#include <cstdint>

#include "preload/formats/recording_format.h"
#include "preload/formats/statistics.h"
#include "preload/formats/writer.h"
#include "preload/recording/recording.h"

namespace pktmalloc {

// While the program runs; called by the reporter alone.
void report_meanwhile();

// The reporter (report_thread.cpp): a thread of the library's own that writes statistics, heap
// profile and sizes while the program runs, every PKTMALLOC_STATS_INTERVAL, and obeys pktmalloc
// tell (below). It exists only with that option or PKTMALLOC_CONTROL, or once pktmalloc tell
// has called for it. Called by allocating slow paths: the child of a fork gets its own. Cheap when
// there is nothing to do.
void consider_report_thread();

// The same of one content other than the trace, where `file` says (a pattern; nullptr: where its
// option does). `out` gets where it is, or why it is not; then false.
bool report_on_demand(recording::Content what, const char* file, Writer& out);

// Writes text on stderr, now.
void report_now();

// All but resident_bytes. All zero between the fork handlers, while this thread holds every lock. A
// Snapshot has 9 KB, so the caller chooses where it lies: not on the stack of a small thread. Takes
// the engine's locks, allocates nothing.
void take_snapshot(Snapshot& out);

// Fills in resident_bytes: a walk over all pages, a millisecond per GiB.
void measure_resident(Snapshot& out);

// Notes the present one, for ends without a report (_exit, quick_exit). Safe in a signal handler,
// whatever that interrupts.
void note_moment();

void note_moment_if_due();

// Called by allocating slow paths.
inline void consider_moment() {
  if (recording_alive != nullptr) [[unlikely]]
    note_moment_if_due();
}

// Control: obeys orders from outside (PKTMALLOC_CONTROL, formats/control.h), of the same user and
// of root only. The reporter's thread does that: no thread of the program is stopped, interrupted
// or asked.
//
// The sockets lie in that thread's own table of descriptors, so a program that closes whatever it
// finds, or uses up its descriptors, changes nothing; nor does a child or another program inherit
// them. A few clients may be connected; one that says nothing keeps nobody waiting, and goes when
// others come.

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

// SPDX-License-Identifier: MIT
// Asleep and awake (preload/process/background.cpp), for spin, on a machine whose stores wait in a
// buffer of their processor while later loads go ahead, as on ARM, and in any order. A thread makes
// memory wait, then looks whether the background thread is parked; that one parks, then looks
// whether memory waits, then sleeps. The claim: it does not sleep for ever (an invalid end state).
//
// FENCES: both empty their buffers between the two, as the source does. Without them spin finds
// the lost wake.

bool waiting, parked;            // memory
bool late_waiting, late_parked;  // stores of true that are still in a buffer
byte running = 2;

inline fence(late) {
  if
  :: FENCES -> !late
  :: !FENCES
  fi
}

active proctype freeing() {
  late_waiting = true;
  fence(late_waiting);
  if
  :: parked -> parked = false  // by an exchange, then wakes
  :: !parked
  fi;
  running--
}

active proctype background() {
  late_parked = true;
  fence(late_parked);
  if
  :: waiting
  :: !waiting ->
     !late_parked;  // the system call
     !parked        // sleeps while it is 1
  fi;
  running--
}

active proctype buffers() {
  do
  :: late_waiting -> d_step { waiting = true; late_waiting = false }
  :: late_parked -> d_step { parked = true; late_parked = false }
  :: running == 0 && !late_waiting && !late_parked -> break
  od
}

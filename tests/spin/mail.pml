// SPDX-License-Identifier: MIT
// The mail of sizeclass/exchange/mail.h and the depot's byte "anything here?" (depot.h), for spin: every
// order in which THREADS threads can do OPERATIONS trades each, beside FREEZES freezes and thaws.
// One atomic step is one access to shared memory, as in the source; memory is sequentially
// consistent. The claims: no magazine is in two hands or lost; who gets one as full finds it full;
// and where a full one waits in the end, the byte says so, or nobody would look.
//
// AGAIN: who found nothing, and said so, looks once more, as the source does. Without that spin
// finds a full magazine that nobody sees.

#define kFrozen 254
#define word(m, is) ((m) * 2 + (is))
#define isFull(there) ((there) != kFrozen && (there) % 2 == 1)
#define isEmpty(there) ((there) != kFrozen && (there) != 0 && (there) % 2 == 0)

byte places[PLACES];
bool holds = false;
bool filled[THREADS + 1];   // what is in a magazine
byte hands[THREADS + 1];  // how many threads hold it
byte running = THREADS + FREEZES;

// Swaps m, or nothing, for what was there a moment ago.
inline swap(m, in_return) {
  atomic {
    if
    :: places[n] == there ->
       places[n] = in_return;
       if :: m != 0 -> hands[m]-- :: else fi;
       m = there / 2;
       if :: m != 0 -> hands[m]++; assert(hands[m] == 1) :: else fi;
       swapped = true
    :: else
    fi
  }
}

// A full one, for m, which is empty, or for nothing.
inline take(m, in_return) {
  n = 0; swapped = false;
  do
  :: n < PLACES && !swapped ->
     there = places[n];
     if
     :: isFull(there) -> swap(m, in_return); assert(!swapped || filled[m])
     :: else
     fi;
     n++
  :: else -> break
  od
}

inline note() {
  if :: !holds -> holds = true :: else fi
}

// From wherever one waits.
inline search(m) {
  if
  :: !holds
  :: else ->
     take(m, 0);
     if
     :: m == 0 ->
        holds = false;
        if :: AGAIN -> take(m, 0) :: else fi;
        if
        :: m != 0 -> holds = true
        :: else ->
           n = 0;
           do
           :: n < PLACES && AGAIN -> if :: places[n] != 0 -> holds = true :: else fi; n++
           :: else -> break
           od
        fi
     :: else
     fi
  fi
}

// A full one for an empty one, which needs no note; else to a place without any.
inline give(m) {
  n = 0; swapped = false;
  do
  :: n < PLACES && !swapped ->
     there = places[n];
     if :: isEmpty(there) -> swap(m, word(m, 1)) :: else fi;
     n++
  :: else -> break
  od;
  if :: !swapped -> leave(m) :: else fi
}

inline leave(m) {
  n = 0;
  do
  :: n < PLACES && !swapped ->
     there = places[n];
     if :: there == 0 -> swap(m, word(m, filled[m])) :: else fi;
     n++
  :: else -> break
  od;
  if :: swapped -> note() :: else fi
}

proctype worker(byte m) {
  byte n = 0, there = 0, left = OPERATIONS;
  bool swapped = false;
  do
  :: left > 0 ->
     if
     :: m == 0 -> search(m)
     :: m != 0 && !filled[m] -> take(m, word(m, 0))
     :: m != 0 && !filled[m] -> leave(m)
     :: m != 0 && filled[m] -> give(m)
     :: m != 0 -> filled[m] = !filled[m]
     fi;
     atomic { n = 0; there = 0; swapped = false; left-- }  // fewer states
  :: left == 0 -> break
  od;
  running--
}

proctype freezer() {
  byte n = 0, kept[PLACES];
  for (n : 0 .. PLACES - 1) { atomic { kept[n] = places[n]; places[n] = kFrozen } }
  holds = true;
  for (n : 0 .. PLACES - 1) { atomic { assert(places[n] == kFrozen); places[n] = kept[n] } }
  running--
}

init {
  byte n = 0;
  atomic {
    for (n : 1 .. THREADS) { filled[n] = n % 2; hands[n] = 1; run worker(n) }
    if :: FREEZES > 0 -> run freezer() :: else fi
  }
  running == 0;
  d_step {
    for (n : 0 .. PLACES - 1) {
      if
      :: places[n] != 0 -> hands[places[n] / 2]++; assert(places[n] % 2 == 0 || holds)
      :: else
      fi
    }
    for (n : 1 .. THREADS) { assert(hands[n] == 1) }
  }
}

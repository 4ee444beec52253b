// SPDX-License-Identifier: MIT
// The tagged LIFO of sizeclass/exchange/magazine_stack.h, for spin: every order in which THREADS threads can
// do up to OPERATIONS pushes and pops each, beside one freeze and thaw.
//
// One atomic step is one access to shared memory, as in the source: load the head, read or write a
// magazine's `next`, exchange the head. (Spin's memory is sequentially consistent: which orderings
// the accesses need is not asked here but by the thread sanitizer.) The claim: no magazine is ever
// in two hands, and in the end every one is in a hand or once in the list.
//
// The tag has TAG_BITS bits. It holds as long as a thread that sleeps between its load and its
// exchange misses fewer than 2^TAG_BITS changes; where the others can make as many, spin finds
// the loss (ABA). The library's tag has 32 bits.

#define kTags (1 << TAG_BITS)
#define kFrozen 255  // an id that no magazine has

byte id = 1;   // the head: id of the top magazine, 0 = none
byte tag = 0;  // and its tag
byte next[MAGAZINES + 1];
byte hands[MAGAZINES + 1];  // how many threads hold it
byte running = THREADS + FREEZES;

#define kCannotExchange (id != head_id || tag != head_tag)

// Loads the head; waits while it is frozen.
inline load() {
  d_step { id != kFrozen -> head_id = id; head_tag = tag }
}

inline push(m) {
  assert(hands[m] == 1);
  load();
  do
  :: next[m] = head_id;
     atomic {
       if
       :: kCannotExchange && id != kFrozen -> head_id = id; head_tag = tag  // and again
       :: kCannotExchange && id == kFrozen -> head_id = kFrozen
       :: else ->
          hands[m]--;
          id = m;
          tag = (head_tag + 1) % kTags;
          break
       fi
     }
     if
     :: head_id == kFrozen -> load()
     :: else
     fi
  od;
  head_id = 0; head_tag = 0
}

// m = 0 when the stack is empty.
inline pop(m) {
  load();
  do
  :: head_id == 0 -> m = 0; break
  :: else ->
     below = next[head_id];
     atomic {
       if
       :: kCannotExchange && id != kFrozen -> head_id = id; head_tag = tag
       :: kCannotExchange && id == kFrozen -> head_id = kFrozen
       :: else ->
          m = head_id;
          id = below;
          tag = (head_tag + 1) % kTags;
          hands[m]++;
          assert(hands[m] == 1);
          break
       fi
     }
     if
     :: head_id == kFrozen -> load()
     :: else
     fi
  od;
  below = 0; head_id = 0; head_tag = 0
}

// Holds up to two magazines, and gives back either.
proctype worker() {
  byte first = 0, second = 0, head_id = 0, head_tag = 0, below = 0, left = OPERATIONS;
  do
  :: left > 0 && first == 0 -> pop(first); left--
  :: left > 0 && first != 0 && second == 0 -> pop(second); left--
  :: left > 0 && first != 0 -> push(first); first = 0; left--
  :: left > 0 && second != 0 -> push(second); second = 0; left--
  :: left == 0 -> break
  od;
  running--
}

// While it is frozen nobody changes it: the head that was is the head that will be.
proctype freezer() {
  byte head_id = 0, head_tag = 0;
  d_step { head_id = id; head_tag = tag; id = kFrozen; tag = 0 }
  atomic { assert(id == kFrozen); id = head_id; tag = head_tag }
  running--
}

init {
  byte n = 0, here = 0;
  atomic {
    for (n : 1 .. MAGAZINES - 1) { next[n] = n + 1 }
    for (n : 1 .. THREADS) { run worker() }
    if
    :: FREEZES > 0 -> run freezer()
    :: else
    fi
  }
  running == 0;
  d_step {
    n = id;
    do
    :: n == 0 -> break
    :: else -> assert(hands[n] == 0); hands[n] = 1; here++; n = next[n]
    od;
    for (n : 1 .. MAGAZINES) { assert(hands[n] == 1) }
  }
}

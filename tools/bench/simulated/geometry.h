// SPDX-License-Identifier: MIT
// The machine that is simulated: one core of a Skylake server, as a guest of a virtual machine.
//
// Caches and TLBs: Intel 64 and IA-32 Architectures Optimization Reference Manual, "Skylake Server
// Microarchitecture", tables of cache and TLB parameters; of the last level, the part that belongs
// to one core. Pages are of 4 KiB, in guest and host.
// The set of the second-level TLB is chosen by 14 bits, folded (Gras and others, TLBleed, 2018).
// Intel does not tell its page-walk caches. Here they are as large as ChampSim, a simulator of
// research, assumes by default (inc/defaults.hpp: pscl 2 to 4), and of one set, as no index is told
// of. The nested TLB has 16 entries: an assumption.
// Cycles: fastest latencies of the same manual, less those of what was asked before: 4 for the
// first level, 14, 60 (told as 50 to 70) and 200 for memory, about 80 ns. 9 for the second-level
// TLB.
#pragma once

#include "tools/bench/simulated/set_associative.h"

namespace simulated {

constexpr unsigned kLineShift = 6, kPageShift = 12;

constexpr Shape kFirstCache{64, 8};      // 32 KiB
constexpr Shape kSecondCache{1024, 16};  // 1 MiB
constexpr Shape kLastCache{2048, 11};    // 1.375 MiB

constexpr Shape kFirstTlb{16, 4};     // 64 pages
constexpr Shape kSecondTlb{128, 12};  // 1536 pages
constexpr unsigned kSecondTlbFold = 7;
constexpr Shape kNestedTlb{1, 16};  // pages of the guest

// A table of pages has 512 entries of 8 bytes, and there are four levels of them.
constexpr unsigned kLevels = 4, kLevelShift = 9, kEntryShift = 3;
// What is remembered of the entries of each level but the lowest, from the second level up.
constexpr Shape kWalkCaches[kLevels - 1] = {{1, 32}, {1, 8}, {1, 4}};

constexpr double kSecondTlbCycles = 9;
constexpr double kFirstCacheCycles = 4, kSecondCacheCycles = 10, kLastCacheCycles = 46,
                 kMemoryCycles = 140;
// Of an instruction that waits for nothing. The core may end four in a cycle; half of that is what
// code with branches and chains of dependent loads reaches.
constexpr double kInstructionCycles = 0.5;
// Of a page's way into the program and back: the fault, its zeroes, and the call that gives it
// back.
constexpr double kPageFaultCycles = 2000;

}  // namespace simulated

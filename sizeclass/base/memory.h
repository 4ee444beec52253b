// SPDX-License-Identifier: MIT
// The operating system's memory, as a short list of verbs. Nothing else in the engine maps,
// protects or unmaps. All are thread-safe, none allocates, all keep errno. tests/fault wraps each
// that can refuse (the linker's --wrap), so it relies on the names.
//
// System calls used: mmap, munmap, mprotect, madvise, mincore.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

// What to ask of the system about transparent huge pages for objects.
enum class HugePages : uint8_t {
  kAuto,     // nothing: the system's own setting decides
  kNever,    // none, whatever the system's setting
  kMadvise,  // for a pool that has grown (slab_pool.cpp), unless the system has none at all
};

namespace memory {

// The system ends the calling thread at any call (seccomp's strict mode). From then on map(),
// commit() and purge() refuse, and nobody else makes one for a malloc or free of it.
inline constinit thread_local bool in_strict_mode = false;

// Bytes in a page; a power of two, known before the first constructor.
size_t page_bytes();

// Where most likely nobody has or gets an address in so many bytes: far below the latest mapping. A
// multiple of `alignment`. 0: there is no such place. The first `mapped` bytes are ready for use,
// so that nobody else finds the same place; the page `also` bytes behind is free as well.
uintptr_t find_room(size_t bytes, size_t alignment, size_t mapped, size_t also);

// Gives back a reservation, or pages of one. False when the system refuses (too many mappings).
bool release(void* start, size_t bytes);

// Maps pages there, ready for use as after commit(). False also when somebody else has addresses
// there.
bool map(void* start, size_t bytes);

// Makes reserved pages readable and writable, zero at first touch. False when the system refuses;
// then nothing has changed. Page-aligned, within one reservation.
bool commit(void* start, size_t bytes);

// Puts memory behind committed pages, so that writing to them faults no more; keeps what they hold.
// False when the system refuses memory.
bool populate(void* start, size_t bytes);

// Bytes of a huge page: what a whole page of page table entries maps.
size_t huge_page_bytes();

// Whether the system shall put huge pages behind these pages, as far as whole ones fit. It may do
// as it likes all the same.
void ask_for_huge_pages(void* start, size_t bytes, bool wanted);

// Puts huge pages of the system's pool (hugetlbfs) in place of committed pages that nobody uses.
// `start` and `bytes` are multiples of huge_page_bytes(). False when the pool has not as many, or
// the system has no pool; then the pages are as after commit().
bool take_from_pool(void* start, size_t bytes);

// Gives the pages' memory back; they stay committed and read as zero at the next touch. What others
// mapped over them goes; then what was advised of them does, too. False when the system refuses, as
// for locked pages (mlockall): then they may keep their contents.
bool purge(void* start, size_t bytes);

// Turns committed pages back into a mere reservation: their memory goes back, as by purge, and they
// no longer count against limits of data (RLIMIT_DATA, strict overcommit). If they stay `readable`,
// who reads them finds zeros. False when the system refuses; then nothing has changed.
bool withdraw(void* start, size_t bytes, bool readable);

// Has anybody mapped the page of the address? In strict mode the answer is yes.
bool is_mapped(const void* address);

// How many bytes of these committed pages are in memory.
size_t resident_bytes(const void* start, size_t bytes);

}  // namespace memory
}  // namespace pktmalloc

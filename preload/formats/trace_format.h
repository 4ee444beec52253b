// SPDX-License-Identifier: MIT
// The trace's format: the library writes it, `pktmalloc replay` reads it.
//
// A Header, then blocks, each of one thread and readable by itself, then a block of kind kEnd. A
// thread's blocks are in file order; times order the records of different threads, and a release
// comes before an allocation of the same nanosecond. A record in a block:
//
//   byte     its kind (2 bits), and which of the 64 latest addresses is its base
//   varint   ns since the record before
//   varint   address / 8 less the latest one / 8, zigzag
//   varint   bytes asked for; allocations only
//   byte     Special, or log2 of the alignment asked for; kSpecialAllocation only
//   byte, varint   the address it had before, less the latest one of that number; kResized and
//                  kMoved only
//
// An address identifies an object: the reader finds the allocation of each release, because in
// order of time an address belongs to one object from its allocation to its release. A realloc is
// one record, at a moment when both addresses are the object's; if the next allocator moves it and
// there is no such moment, kMove before and kMoved after, in the same thread. All numbers are in
// the machine's byte order. Any change here raises kVersion.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pktmalloc::trace {

inline constexpr char kMagic[8] = {'p', 'k', 't', 't', 'r', 'a', 'c', 'e'};
inline constexpr uint32_t kVersion = 2;

enum class State : uint32_t {
  kRunning,  // or killed
  kEnded,
  kStopped,  // before its process, because memory or the file was refused
};

struct Header {
  char magic[8];
  uint32_t version;
  State state;           // the only field that is rewritten later
  uint64_t start_ns;     // monotonic clock, like the records
  uint64_t start_epoch;  // seconds
  int32_t pid;
  int32_t forked_from;  // process that owned the earlier objects; 0: traced from its load
  char program[64];     // ends with a zero
  uint64_t checksum;    // of everything before it, with state 0
};

enum class BlockKind : uint32_t { kRecords = 0x4b4c4250, kEnd = 0x444e4550 };

struct Block {
  BlockKind kind;
  uint32_t bytes;     // of its records, which follow
  uint32_t thread;    // from 1; 0: threads that had ended or were not there yet, mixed
  uint32_t number;    // of the block in the file, from 0
  uint64_t start_ns;  // the first record's time counts from here
  uint64_t checksum;  // of the fields before it and of the records
};

inline constexpr size_t kMostBlockBytes = size_t{64} << 10;

// The records of a thread since its last block, in the thread's buffer. A reader that finds one in
// a recording (recording_format.h): they are in the trace already if block.bytes is not 0 and
// block.number is below the number of blocks there.
struct OpenBlock {
  std::atomic<uint32_t> used;  // bytes
  Block block;                 // whole when it is written
  unsigned char bytes[kMostBlockBytes - 1024];
};
static_assert(offsetof(OpenBlock, bytes) == offsetof(OpenBlock, block) + sizeof(Block));
inline constexpr size_t kMostRecordBytes = 1 + 10 + 10 + 10 + 1 + 1 + 10;

enum RecordKind : uint8_t { kAllocation, kSpecialAllocation, kRelease, kMove };
enum Special : uint8_t { kAligned = 0, kZeroed = 64, kResized, kMoved };  // kAligned: and its log2

// The base of a record's differences.
struct Position {
  uint64_t time_ns;
  uint64_t latest[64];  // address / 8, by bits of the address: a size class's are one entry's

  static unsigned entry_of(uint64_t address) { return (address >> 37) & 63; }
};

inline unsigned char* put_varint(unsigned char* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<unsigned char>(value | 0x80);
  *out++ = static_cast<unsigned char>(value);
  return out;
}

constexpr uint64_t zigzag(uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}

// Every step can be undone, so no change within one word goes unseen.
inline uint64_t checksum(const void* bytes, size_t count, uint64_t sum = 0) {
  const char* at = static_cast<const char*>(bytes);
  for (size_t done = 0; done < count; done += 8) {
    uint64_t word = 0;
    memcpy(&word, at + done, count - done < 8 ? count - done : 8);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 32;
  }
  return sum;
}

inline uint64_t checksum_of(Header header) {
  header.state = State::kRunning;
  return checksum(&header, offsetof(Header, checksum));
}

inline uint64_t checksum_of(const Block& block, const void* records) {
  return checksum(records, block.bytes, checksum(&block, offsetof(Block, checksum)));
}

static_assert(sizeof(Header) == 112 && sizeof(Block) == 32, "no padding: all bytes are checked");

}  // namespace pktmalloc::trace

// SPDX-License-Identifier: MIT
// Blocks: those of a trace (preload/formats/trace_format.h), up to its end or to the damage, and
// the records in them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "preload/formats/trace_format.h"
#include "tools/command/replay/plain_file.h"

namespace pktmalloc {

struct Record {
  uint64_t time_ns, address, bytes, from;  // addresses / 8; `from`: kResized and kMoved
  trace::RecordKind kind;
  uint8_t special;  // of kSpecialAllocation

  bool is(trace::Special what) const {
    return kind == trace::kSpecialAllocation && special == what;
  }
};

// Reads the records of one block.
class BlockReader {
 public:
  BlockReader(const trace::Block& block, const unsigned char* records)
      : at_(records), end_(records + block.bytes) {
    position_.time_ns = block.start_ns;
  }

  bool more() const { return at_ < end_; }

  // False when it is none.
  bool next(Record& record);

 private:
  bool number(uint64_t& value);
  bool address(unsigned entry, uint64_t& value);

  const unsigned char* at_;
  const unsigned char* end_;
  trace::Position position_{};
};

struct BlockAt {
  trace::Block block;
  const unsigned char* records;
};

class Blocks {
 public:
  // As long as `file` is there.
  explicit Blocks(const PlainFile& file);

  const std::vector<BlockAt>& all() const { return all_; }
  uint64_t records() const { return records_; }
  // What is wrong at the end; "" when the trace ends as it should.
  const std::string& fault() const { return fault_; }

 private:
  bool step();
  bool is_sound(const BlockAt& at);
  bool damaged() { return stop("it is damaged"); }
  bool ends_with(const char* what);
  bool stop(const char* what);

  const PlainFile& file_;
  std::vector<BlockAt> all_;
  std::string fault_;
  size_t offset_ = sizeof(trace::Header);
  uint32_t number_ = 0;
  uint64_t records_ = 0;
};

// Reads the records of one thread.
class ThreadReader {
 public:
  void add(const BlockAt& block) { blocks_.push_back(block); }

  // False at the end.
  bool next();
  const Record& record() const { return record_; }

 private:
  std::vector<BlockAt> blocks_;
  size_t done_ = 0;
  std::unique_ptr<BlockReader> reader_;
  Record record_{};
};

}  // namespace pktmalloc

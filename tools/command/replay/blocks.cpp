// SPDX-License-Identifier: MIT
#include "tools/command/replay/blocks.h"

#include <fmt/core.h>

#include <cstring>

namespace pktmalloc {
namespace {

// nullptr when it is cut off at `end` or too long.
const unsigned char* get_varint(const unsigned char* in, const unsigned char* end,
                                uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; in < end && shift < 64; shift += 7) {
    value |= uint64_t{*in & 0x7fu} << shift;
    if ((*in++ & 0x80) == 0) return in;
  }
  return nullptr;
}

constexpr uint64_t unzigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

}  // namespace

bool BlockReader::next(Record& record) {
  record.kind = static_cast<trace::RecordKind>(*at_ & 3);
  const unsigned entry = *at_++ >> 2;
  uint64_t elapsed = 0;
  if (!number(elapsed) || !address(entry, record.address)) return false;
  record.time_ns = position_.time_ns += elapsed;
  record.bytes = record.from = record.special = 0;
  if (record.kind >= trace::kRelease) return true;
  if (!number(record.bytes)) return false;
  if (record.kind == trace::kAllocation) return true;
  if (at_ == end_ || *at_ > trace::kMoved) return false;
  record.special = *at_++;
  if (record.special < trace::kResized) return true;
  if (at_ == end_ || *at_ > 63) return false;
  const unsigned from_entry = *at_++;
  return address(from_entry, record.from);
}

bool BlockReader::number(uint64_t& value) {
  at_ = get_varint(at_, end_, value);
  return at_ != nullptr;
}

bool BlockReader::address(unsigned entry, uint64_t& value) {
  uint64_t difference = 0;
  if (!number(difference)) return false;
  value = position_.latest[entry] += unzigzag(difference);
  return true;
}

Blocks::Blocks(const PlainFile& file) : file_(file) {
  while (step()) {
  }
}

bool Blocks::step() {
  const std::vector<unsigned char>& bytes = file_.bytes;
  const size_t left = bytes.size() - offset_;
  if (left == 0) return ends_with("it has no end");
  BlockAt at{};
  if (left < sizeof at.block) return ends_with("it is cut off in a block");
  memcpy(&at.block, bytes.data() + offset_, sizeof at.block);
  at.records = bytes.data() + offset_ + sizeof at.block;
  const trace::Block& block = at.block;
  const bool end = block.kind == trace::BlockKind::kEnd;
  if ((!end && block.kind != trace::BlockKind::kRecords) || block.number != number_ ||
      block.bytes > trace::kMostBlockBytes) {
    return damaged();
  }
  if (left - sizeof block < block.bytes) return ends_with("it is cut off in a block");
  if (!is_sound(at) || (end && block.bytes != 0)) return damaged();
  offset_ += sizeof block + block.bytes;
  if (end && offset_ < bytes.size()) return stop("something follows its end");
  if (end) return ends_with(nullptr);
  all_.push_back(at);
  ++number_;
  return true;
}

bool Blocks::is_sound(const BlockAt& at) {
  if (at.block.checksum != trace::checksum_of(at.block, at.records)) return false;
  BlockReader reader(at.block, at.records);
  uint64_t records = 0;
  for (Record record; reader.more(); ++records) {
    if (!reader.next(record)) return false;
  }
  records_ += records;
  return true;
}

// All bytes are used; that there are no more may have a reason.
bool Blocks::ends_with(const char* what) {
  fault_ = file_.fault;
  if (fault_.empty() && what != nullptr) stop(what);
  return false;
}

bool Blocks::stop(const char* what) {
  fault_ = fmt::format("{} at byte {}{}", what, offset_,
                       file_.compressed ? " of the uncompressed trace" : "");
  return false;
}

bool ThreadReader::next() {
  while (!reader_ || !reader_->more()) {
    if (done_ == blocks_.size()) return false;
    const BlockAt& at = blocks_[done_++];
    reader_ = std::make_unique<BlockReader>(at.block, at.records);
  }
  return reader_->next(record_);
}

}  // namespace pktmalloc

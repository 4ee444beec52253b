// SPDX-License-Identifier: MIT
#include "tools/command/replay/trace.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "tools/command/failure.h"
#include "tools/command/file_kind.h"

namespace pktmalloc {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes read_file(const std::string& path) {
  const auto close = [](FILE* f) { fclose(f); };
  const std::unique_ptr<FILE, decltype(close)> file(
      path == "-" ? fdopen(0, "rb") : fopen(path.c_str(), "rb"), close);
  if (!file) throw Failure("cannot read {}: {}", path, strerror(errno));
  Bytes bytes;
  constexpr size_t kStep = size_t{1} << 20;
  for (size_t read = kStep; read == kStep;) {
    const size_t before = bytes.size();
    bytes.resize(before + kStep);
    read = fread(bytes.data() + before, 1, kStep, file.get());
    bytes.resize(before + read);
  }
  if (ferror(file.get()) != 0) throw Failure("cannot read {}: {}", path, strerror(errno));
  return bytes;
}

trace::Header header_of(const Bytes& bytes, const std::string& path) {
  trace::Header header{};
  if (bytes.size() < sizeof header.magic ||
      memcmp(bytes.data(), trace::kMagic, sizeof header.magic) != 0) {
    throw wrong_kind(path, FileKind::kTrace);
  }
  if (bytes.size() < sizeof header) throw Failure("{} ends in the header of its trace", path);
  memcpy(&header, bytes.data(), sizeof header);
  if (header.version != trace::kVersion) {
    throw Failure("{} is a trace of version {}; this pktmalloc reads version {}", path,
                  header.version, trace::kVersion);
  }
  if (header.checksum != trace::checksum_of(header) || header.state > trace::State::kStopped ||
      memchr(header.program, 0, sizeof header.program) == nullptr) {
    throw Failure("{}: the header of the trace is damaged", path);
  }
  return header;
}

struct Record {
  uint64_t time_ns, address, bytes;  // the address / 8
  trace::RecordKind kind;
  uint8_t alignment_log2;
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
  bool next(Record& record) {
    record.kind = static_cast<trace::RecordKind>(*at_ & 3);
    if (record.kind > trace::kRelease) return false;
    uint64_t& latest = position_.latest[*at_++ >> 2];
    uint64_t value = 0;
    if (!number(value)) return false;
    record.time_ns = position_.time_ns += value;
    if (!number(value)) return false;
    record.address = latest += trace::unzigzag(value);
    record.bytes = 0;
    record.alignment_log2 = 0;
    if (record.kind != trace::kRelease && !number(record.bytes)) return false;
    if (record.kind == trace::kAlignedAllocation) {
      if (at_ == end_ || *at_ > 63) return false;
      record.alignment_log2 = *at_++;
    }
    return true;
  }

 private:
  bool number(uint64_t& value) {
    at_ = trace::get_varint(at_, end_, value);
    return at_ != nullptr;
  }

  const unsigned char* at_;
  const unsigned char* end_;
  trace::Position position_{};
};

struct BlockAt {
  trace::Block block;
  const unsigned char* records;
};

bool is_sound(const BlockAt& at) {
  if (at.block.checksum != trace::checksum_of(at.block, at.records)) return false;
  BlockReader reader(at.block, at.records);
  for (Record record; reader.more();) {
    if (!reader.next(record)) return false;
  }
  return true;
}

// The blocks of records up to the end or the damage.
class Blocks {
 public:
  explicit Blocks(const Bytes& bytes) : bytes_(bytes) {
    while (step()) {
    }
  }

  const std::vector<BlockAt>& all() const { return all_; }
  // What is wrong at the end; "" when the trace ends as it should.
  const std::string& fault() const { return fault_; }

 private:
  bool step() {
    const size_t left = bytes_.size() - offset_;
    if (left == 0) return stop("it has no end");
    BlockAt at{};
    if (left < sizeof at.block) return cut_off();
    memcpy(&at.block, bytes_.data() + offset_, sizeof at.block);
    at.records = bytes_.data() + offset_ + sizeof at.block;
    const trace::Block& block = at.block;
    const bool end = block.kind == trace::BlockKind::kEnd;
    if ((!end && block.kind != trace::BlockKind::kRecords) || block.number != number_ ||
        block.bytes > trace::kMostBlockBytes) {
      return damaged();
    }
    if (left - sizeof block < block.bytes) return cut_off();
    if (!is_sound(at) || (end && block.bytes != 0)) return damaged();
    offset_ += sizeof block + block.bytes;
    if (end) return offset_ == bytes_.size() ? false : stop("something follows its end");
    all_.push_back(at);
    ++number_;
    return true;
  }

  bool damaged() { return stop("it is damaged"); }
  bool cut_off() { return stop("it is cut off in a block"); }
  bool stop(const char* what) {
    fault_ = fmt::format("{} at byte {}", what, offset_);
    return false;
  }

  const Bytes& bytes_;
  std::vector<BlockAt> all_;
  std::string fault_;
  size_t offset_ = sizeof(trace::Header);
  uint32_t number_ = 0;
};

// Reads the records of one thread.
class ThreadReader {
 public:
  void add(const BlockAt& block) { blocks_.push_back(block); }

  // False at the end.
  bool next() {
    while (!reader_ || !reader_->more()) {
      if (done_ == blocks_.size()) return false;
      const BlockAt& at = blocks_[done_++];
      reader_ = std::make_unique<BlockReader>(at.block, at.records);
    }
    return reader_->next(record_);
  }
  const Record& record() const { return record_; }

 private:
  std::vector<BlockAt> blocks_;
  size_t done_ = 0;
  std::unique_ptr<BlockReader> reader_;
  Record record_{};
};

// Takes the records in order of time and finds the objects.
class Resolver {
 public:
  explicit Resolver(Trace& trace) : trace_(trace) {}

  void add(const Record& r, uint32_t thread) {
    const auto found = live_.find(r.address);
    if (r.kind == trace::kRelease) {
      if (found == live_.end()) {
        ++trace_.early_releases;
        return;
      }
      trace_.calls.push_back({r.time_ns, 0, thread, found->second, r.kind, 0});
      live_.erase(found);
      return;
    }
    if (found != live_.end()) {
      ++trace_.unseen_releases;
      trace_.calls.push_back({r.time_ns, 0, thread, found->second, trace::kRelease, 0});
    }
    if (trace_.objects == std::numeric_limits<uint32_t>::max()) {
      throw Failure("the trace has more than 4,294,967,295 allocations");
    }
    live_[r.address] = trace_.objects;
    trace_.calls.push_back(
        {r.time_ns, r.bytes, thread, trace_.objects++, r.kind, r.alignment_log2});
  }

 private:
  Trace& trace_;
  std::unordered_map<uint64_t, uint32_t> live_;  // by address
};

void merge(const std::vector<BlockAt>& blocks, Trace& trace) {
  std::vector<ThreadReader> threads;
  std::unordered_map<uint32_t, uint32_t> indexes;
  for (const BlockAt& at : blocks) {
    const auto [index, is_new] =
        indexes.emplace(at.block.thread, static_cast<uint32_t>(threads.size()));
    if (is_new) threads.emplace_back();
    threads[index->second].add(at);
  }
  trace.threads = static_cast<uint32_t>(threads.size());
  // Of one nanosecond, releases come first: what they gave back may be taken at once.
  using Next = std::tuple<uint64_t, bool, uint32_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> order;
  const auto push = [&](uint32_t thread) {
    if (!threads[thread].next()) return;
    const Record& r = threads[thread].record();
    order.emplace(r.time_ns, r.kind != trace::kRelease, thread);
  };
  for (uint32_t thread = 0; thread < threads.size(); ++thread) push(thread);
  Resolver resolver(trace);
  while (!order.empty()) {
    const uint32_t thread = std::get<2>(order.top());
    order.pop();
    resolver.add(threads[thread].record(), thread);
    push(thread);
  }
}

std::string warning_of(const trace::Header& header, const std::string& fault,
                       const std::string& path) {
  if (header.state == trace::State::kStopped) {
    return fmt::format("{}: the trace ended before its program, which said why", path);
  }
  if (fault.empty()) return "";
  if (header.state == trace::State::kRunning && fault.compare(0, 9, "it has no") == 0) {
    return fmt::format(
        "{}: {}: the program was killed, ended by _exit or is still running; each thread's last "
        "calls, up to {} KiB of records, are missing",
        path, fault, trace::kMostBlockBytes >> 10);
  }
  return fmt::format("{}: {}; what follows is left out", path, fault);
}

}  // namespace

Trace read_trace(const std::string& path) {
  const Bytes bytes = read_file(path);
  Trace trace;
  trace.header = header_of(bytes, path);
  trace.bytes = bytes.size();
  const Blocks blocks(bytes);
  merge(blocks.all(), trace);
  trace.warning = warning_of(trace.header, blocks.fault(), path);
  return trace;
}

}  // namespace pktmalloc

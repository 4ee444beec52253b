// SPDX-License-Identifier: MIT
#include "tools/command/heap/roots.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "tools/command/system/call_registers.h"
namespace pktmalloc {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAtOnce = uint64_t{1} << 20;
// A function that calls no other may use so many bytes below the end of its stack.
constexpr uint64_t kRedZone = 128;

using Range = RemoteHeap::Range;

class Finder {
 public:
  Finder(const RemoteHeap& heap, const SampledObjects& sampled, const RemoteMemory& memory,
         const std::string& page_map)
      : units_(heap.units()),
        samples_(sampled.span()),
        memory_(memory),
        pages_(page_map.empty() ? -1 : open(page_map.c_str(), O_RDONLY | O_CLOEXEC)),
        words_(kAtOnce / sizeof(uint64_t)) {}
  ~Finder() {
    if (pages_ >= 0) close(pages_);
  }
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  void look(const uint64_t* words, size_t count) {
    const uint64_t bytes = units_.end - units_.begin;
    const uint64_t sample_bytes = samples_.end - samples_.begin;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t word = words[i];
      if (word - units_.begin <= bytes || word - samples_.begin < sample_bytes) {
        found.push_back(word);
      }
    }
  }

  // Page by page what is there: others cannot hold anything yet.
  void look(Range range) {
    while (range.begin < range.end) {
      const uint64_t end = std::min(range.end, (range.begin / kAtOnce + 1) * kAtOnce);
      const std::vector<bool> there = pages_there(range.begin / kPage, (end - 1) / kPage + 1);
      for (uint64_t at = range.begin; at < end;) {
        uint64_t stop = at;
        while (stop < end && there[stop / kPage - range.begin / kPage]) {
          stop = std::min(end, (stop / kPage + 1) * kPage);
        }
        if (stop > at) copy_and_look({at, stop});
        at = stop > at ? stop : std::min(end, (at / kPage + 1) * kPage);
      }
      range.begin = end;
    }
  }

  std::vector<uint64_t> found;

 private:
  void copy_and_look(Range range) {
    const RemoteMemory::Piece piece{range.begin, words_.data(), range.end - range.begin};
    memory_.copy_all({&piece, 1});
    look(words_.data(), piece.bytes / sizeof(uint64_t));
  }

  // Present or swapped out.
  std::vector<bool> pages_there(uint64_t first, uint64_t end) const {
    std::vector<bool> there(end - first, true);
    if (pages_ < 0) return there;
    std::vector<uint64_t> entries(end - first);
    const ssize_t got = pread(pages_, entries.data(), entries.size() * sizeof(uint64_t),
                              static_cast<off_t>(first * sizeof(uint64_t)));
    if (got != static_cast<ssize_t>(entries.size() * sizeof(uint64_t))) return there;
    for (size_t i = 0; i < entries.size(); ++i) there[i] = entries[i] >> 62 != 0;
    return there;
  }

  const Range units_, samples_;
  const RemoteMemory& memory_;
  const int pages_;
  std::vector<uint64_t> words_;
};

bool is_before(const Range& a, const Range& b) { return a.begin < b.begin; }

// What is left of a range without the others, which are in order and do not overlap.
std::vector<Range> without(Range range, const std::vector<Range>& others) {
  std::vector<Range> left;
  auto next = std::lower_bound(others.begin(), others.end(), range, is_before);
  if (next != others.begin()) --next;
  for (; next != others.end() && next->begin < range.end; ++next) {
    const Range& other = *next;
    if (other.end <= range.begin) continue;
    if (other.begin > range.begin) left.push_back({range.begin, other.begin});
    range.begin = std::max(range.begin, other.end);
  }
  if (range.begin < range.end) left.push_back(range);
  return left;
}

// Is it a stack as the system or libc maps them, which grows down to a page that nobody may touch?
bool is_stack(const std::vector<Mapping>& mappings, size_t i) {
  if (mappings[i].path == "[stack]") return true;
  return i > 0 && mappings[i - 1].end == mappings[i].start && !mappings[i - 1].readable &&
         mappings[i].path.empty();
}

}  // namespace

std::vector<uint64_t> find_roots(const RemoteHeap& heap, const SampledObjects& sampled,
                                 const RemoteMemory& memory, const std::vector<Mapping>& mappings,
                                 const std::vector<Registers>& registers,
                                 const std::string& page_map) {
  Finder finder(heap, sampled, memory, page_map);
  for (const Registers& words : registers) finder.look(words.data(), words.size());
  std::vector<Range> own = heap.own_memory();
  const std::vector<Range> samples = sampled.own_memory();
  own.insert(own.end(), samples.begin(), samples.end());
  std::sort(own.begin(), own.end(), is_before);
  for (size_t i = 0; i < mappings.size(); ++i) {
    const Mapping& m = mappings[i];
    if (!m.readable || !m.writable) continue;
    Range range{m.start, m.end};
    if (is_stack(mappings, i)) {
      uint64_t used = m.end;
      for (const Registers& words : registers) {
        if (words.size() <= kStackPointer) continue;
        const uint64_t pointer = words[kStackPointer];
        if (pointer >= m.start && pointer < m.end) used = std::min(used, pointer - kRedZone);
      }
      if (used != m.end)
        range.begin = std::max(m.start, used / sizeof(uint64_t) * sizeof(uint64_t));
    }
    for (const Range& left : without(range, own)) finder.look(left);
  }
  return std::move(finder.found);
}

}  // namespace pktmalloc

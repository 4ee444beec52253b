// SPDX-License-Identifier: MIT
// Damaged traces, plain and compressed: they are read up to the damage, and what is wrong is told.
#include <catch2/catch.hpp>

#include <zstd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/temporary_folder.h"
#include "tools/command/failure.h"
#include "tools/command/replay/trace.h"

using pktmalloc::read_trace;
using pktmalloc::Trace;

namespace {

std::string recorded(const TemporaryFolder& folder, const std::string& name,
                     std::vector<std::string> argv = {program_path("known_calls")}) {
  REQUIRE(
      Program(std::move(argv)).preloaded().with("PKTMALLOC_TRACE", folder / name).run().status ==
      0);
  return folder.read(name);
}

// "": whole; otherwise what is told.
std::string told_of(const std::string& bytes, const TemporaryFolder& folder, Trace& trace) {
  folder.write("changed", bytes);
  try {
    trace = read_trace(folder / "changed");
    return trace.warning;
  } catch (const pktmalloc::Failure& failure) {
    return failure.what();
  }
}

}  // namespace

TEST_CASE("every single changed byte and every cut is told, and none crashes or hangs") {
  TemporaryFolder folder;
  Trace trace;
  const std::string bytes = recorded(folder, "small");
  REQUIRE(bytes.size() < 20000);
  REQUIRE(told_of(bytes, folder, trace).empty());
  const size_t state = offsetof(pktmalloc::trace::Header, state);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      INFO("byte " << at << " ^ " << flip);
      // The state may be that of a trace that still grows, whose end is there.
      if (told_of(changed, folder, trace).empty() != (at == state && flip == 1)) FAIL("not told");
    }
  }
  for (size_t length = 0; length < bytes.size(); ++length) {
    INFO("the first " << length << " bytes");
    if (told_of(bytes.substr(0, length), folder, trace).empty()) FAIL("not told");
  }
}

// The checksum is right: written so, not damaged.
TEST_CASE("records that are none, with a good checksum, crash nothing") {
  TemporaryFolder folder;
  Trace trace;
  const std::string bytes = recorded(folder, "small");
  pktmalloc::trace::Block block;
  const size_t at = sizeof(pktmalloc::trace::Header);
  memcpy(&block, bytes.data() + at, sizeof block);
  size_t told = 0;
  for (size_t i = 0; i < block.bytes; ++i) {
    for (int value = 0; value < 256; value += 5) {
      std::string changed = bytes;
      char* const records = changed.data() + at + sizeof block;
      records[i] = static_cast<char>(value);
      block.checksum = pktmalloc::trace::checksum_of(block, records);
      memcpy(changed.data() + at, &block, sizeof block);
      told += told_of(changed, folder, trace).empty() ? 0 : 1;
    }
  }
  CHECK(told > 0);
}

TEST_CASE("every cut, every changed byte and what is added is told, or changes nothing") {
  TemporaryFolder folder;
  const std::string bytes = recorded(folder, "t.zst");
  const Trace whole = read_trace(folder / "t.zst");
  REQUIRE(bytes.size() < 20000);
  Trace trace;
  const size_t state =
      12 + offsetof(pktmalloc::trace::Header, state);  // may be that of a trace that grows
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      if (!told_of(changed, folder, trace).empty() || at == state) continue;
      INFO("byte " << at << " ^ " << flip);
      if (trace.calls != whole.calls) FAIL("not told");
    }
  }
  size_t frame = 0, next = 0;
  for (size_t length = 4; length < bytes.size(); ++length) {
    INFO("the first " << length << " bytes");
    while (length >= next) {
      frame = next;
      next += ZSTD_findFrameCompressedSize(bytes.data() + frame, bytes.size() - frame);
    }
    const std::string told = told_of(bytes.substr(0, length), folder, trace);
    const std::string cut = "its zstd frame at byte " + std::to_string(frame) + " is cut off";
    if (told.find(length == frame ? "it has no end" : cut) == std::string::npos) FAIL(told);
  }
  CHECK(next == bytes.size());
  CHECK(told_of(bytes + "garbage", folder, trace)
            .find(": its zstd frame at byte " + std::to_string(bytes.size()) + " is damaged: ") !=
        std::string::npos);
  CHECK(told_of(bytes + bytes, folder, trace).find("something follows its end at byte ") !=
        std::string::npos);
  CHECK((trace.calls == whole.calls));
}

TEST_CASE("a damaged frame ends the replay there, after a line that names the byte") {
  TemporaryFolder folder;
  std::string bytes = recorded(folder, "t.zst", {program_path("statistics_are_exact")});
  const Trace whole = read_trace(folder / "t.zst");
  bytes[bytes.size() / 2] ^= 0x55;
  folder.write("damaged", bytes);
  const Trace trace = read_trace(folder / "damaged");
  INFO(trace.warning);
  CHECK(trace.warning.find(folder / "damaged: it") == 0);
  CHECK(trace.warning.find(" at byte ") != std::string::npos);
  CHECK(trace.warning.find("; what follows is left out") != std::string::npos);
  CHECK(trace.calls.size() > whole.calls.size() / 4);
  CHECK(trace.calls.size() < whole.calls.size() * 3 / 4);
}

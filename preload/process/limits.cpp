// SPDX-License-Identifier: MIT
#include "preload/process/limits.h"

#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/base/system_memory.h"
#include "sizeclass/base/memory_limit.h"

namespace pktmalloc {
namespace {

uint64_t bytes(const char* name, const MemoryShare& share) {
  if (share.percent == 0) return share.bytes != 0 ? share.bytes : MemoryLimit::kNone;
  const uint64_t total = total_memory();
  if (total != ~uint64_t{0}) return total / 100 * share.percent;
  message("%s: the system does not tell how much memory there is; there is no limit", name);
  return MemoryLimit::kNone;
}

}  // namespace

Limits limits() {
  return {bytes("PKTMALLOC_LIMIT", options().limit),
          bytes("PKTMALLOC_SOFT_LIMIT", options().soft_limit)};
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
// LeakReport: lost objects by type, those that a heap profile samples by place too, and how people
// and programs read them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/command/heap/lost_objects.h"
#include "tools/command/heap/place_calls.h"
#include "tools/command/heap/suppressions.h"
#include "tools/command/system/image.h"

namespace pktmalloc {

struct LeakReport {
  // Of objects that nothing points to.
  struct Row {
    uint64_t object_bytes = 0;  // of the class; of a sample, what was asked for
    std::string type;           // "": not known
    uint64_t objects = 0;
    uint64_t ends_known = 0;  // of these, with a pointer to their end, where the next one begins
    uint64_t hanging_objects = 0, hanging_bytes = 0;  // lost with them
    uint64_t address = 0;                             // of the program's bytes in one of them
    std::string example;                              // what they are, where contents are shown
    Calls calls;                                      // that allocated a sample

    uint64_t bytes() const { return objects * object_bytes; }
  };
  std::vector<Row> rows;  // the most bytes first, with what hangs from them
  uint64_t suppressed_objects = 0, suppressed_bytes = 0;  // those of rows that are taken out
  uint64_t guarded_objects = 0;  // live ones of the sampled guard, at which nobody has looked

  uint64_t objects() const;  // with what hangs from them
  uint64_t bytes() const;
  bool is_certain() const;  // something is lost not only perhaps
  void suppress(const Suppressions& suppressions);
  std::string text(size_t most_rows) const;
  nlohmann::ordered_json json() const;
};

LeakReport leak_report(const Image& image, const RemoteHeap& heap, const HeapCopy& copy,
                       const SampledObjects& sampled, const std::vector<LostObject>& lost,
                       bool contents);

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/live/process_table.h"

#include <algorithm>

#include "preload/formats/bytes.h"
#include "tools/command/live/live.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {

const char* const kProcessTableHead =
    "    PID PROGRAM             ALLOCATED     CACHED  COMMITTED        RSS  THREADS";

std::string ProcessRow::text() const {
  const auto bytes = [](uint64_t n) { return std::string(Bytes(n).text); };
  return fmt::format("{:7} {:18.18} {:>10} {:>10} {:>10} {:>10} {:8}", pid, printable(program),
                     bytes(allocated_bytes), bytes(cached_bytes), bytes(committed_bytes),
                     bytes(rss_bytes), threads);
}

std::string ProcessTable::text() const {
  std::string text = fmt::format("{}\n", kProcessTableHead);
  for (const ProcessRow& row : rows) text += row.text() + "\n";
  if (rows.empty()) text += "no process of this user uses pktmalloc\n";
  return text;
}

ProcessTable process_table() {
  ProcessTable table;
  for (const auto& process : live_processes(table.refusals)) {
    try {
      const Reading reading = process->read();
      const ProcessStatistics& p = reading.snapshot.process;
      table.rows.push_back({process->pid(), reading.program, p.allocated_bytes,
                            p.cached_threads_bytes + p.cached_depot_bytes + p.cached_slabs_bytes,
                            p.committed_bytes, process->rss_bytes(), p.threads_alive});
    } catch (const Failure&) {
      // It ended since it was found.
    }
  }
  return table;
}

}  // namespace pktmalloc

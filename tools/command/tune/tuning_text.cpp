// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include "tools/command/text/printable.h"
#include "tools/command/text/quantity.h"
#include "tools/command/tune/tuning.h"

namespace pktmalloc {
namespace {

std::string bytes(uint64_t n) { return bytes_text(static_cast<double>(n)); }

std::string plural(uint64_t count, const std::string& noun) {
  return count_text(count) + " " + noun + (count == 1 ? "" : "s");
}

constexpr char kTableLine[] = "  {:<8}{:>9}{:>12}{:>9}{:>12}{:>13}{:>12}\n";

std::string table_line(const char* name, const TableFit& fit, const MemoryPrediction& prediction) {
  const std::optional<uint64_t> memory = prediction.with(fit);
  return fmt::format(kTableLine, name, fit.classes.size(), bytes(fit.lost),
                     share_text(fit.lost, fit.requested), memory ? bytes(*memory) : "unknown",
                     bytes(fit.passed_bytes), count_text(fit.passed_calls));
}

std::string class_line(const ClassFit& c) {
  const std::string range = c.smallest == c.largest ? fmt::format("{}", c.largest)
                                                    : fmt::format("{}-{}", c.smallest, c.largest);
  return fmt::format("  {:>8}{:>16}{:>15}{:>13}{:>9}{:>13}\n", c.bytes,
                     c.calls + c.objects == 0 ? "-" : range, count_text(c.calls),
                     count_text(c.objects), c.threads, bytes(c.lost()));
}

constexpr char kProgramLine[] = "  {:<18.18}{:>10}{:>12}{:>14}{:>14}{:>20}\n";

std::string program_line(const ProgramFit& p) {
  const uint64_t lost = p.after > p.own ? p.after - p.own : 0;
  return fmt::format(kProgramLine, printable(p.program), count_text(p.files), bytes(p.before),
                     bytes(p.after), bytes(p.own),
                     fmt::format("{} {:>7}", bytes(lost), share_text(lost, p.own)));
}

}  // namespace

std::string programs_text(const SizeRecording& recording) {
  if (recording.programs.empty()) return "nobody";
  const std::string first = printable(*recording.programs.begin());
  const size_t others = recording.programs.size() - 1;
  return others == 0 ? first : first + " and " + plural(others, "other");
}

std::string classes_value(const Tuning& tuning) {
  std::string value;
  for (const size_t size : tuning.table) value += (value.empty() ? "" : ",") + std::to_string(size);
  return value;
}

std::string tuning_text(const Tuning& tuning) {
  const SizeRecording& r = tuning.recording;
  std::string text = fmt::format("{} of {}: {}, {}, {}\n", plural(r.files, "recording"),
                                 programs_text(r), plural(r.calls(), "call"),
                                 plural(r.sizes.size(), "size"), plural(r.threads, "thread"));
  text += fmt::format("at the peak {} of {} were live\n", plural(r.objects_at_peak(), "object"),
                      bytes(r.bytes_at_peak()));
  if (r.earlier > 0) {
    text += fmt::format("of each process its last file; {} left out\n",
                        plural(r.earlier, "earlier one"));
  }
  if (r.missing > 0) {
    text += fmt::format("{} are missing: memory for the recording was refused\n",
                        plural(r.missing, "allocation"));
  }
  text += "\n" + fmt::format(kTableLine, "table", "classes", "rounding", "share", "in memory",
                             "no class", "in calls");
  text += table_line("default", tuning.before, tuning.memory) +
          table_line("tuned", tuning.after, tuning.memory);
  text += fmt::format("  {:<17}{:>12}{:>9}\n", "a class each", bytes(tuning.least),
                      share_text(tuning.least, tuning.after.requested));
  if (!tuning.memory.unknown().empty()) {
    text += fmt::format(
        "\nmemory is unknown: {}\nknown is what rounding loses; pktmalloc compare measures "
        "memory\n",
        tuning.memory.unknown());
  }
  text += fmt::format("\n  {:>8}{:>16}{:>15}{:>13}{:>9}{:>13}\n", "class", "requests", "calls",
                      "at the peak", "threads", "rounding");
  for (const ClassFit& c : tuning.after.classes) text += class_line(c);
  if (tuning.programs.size() > 1) {
    text += "\n" + fmt::format(kProgramLine, "in pages", "processes", "default", "this table",
                               "its own", "loses");
    for (const ProgramFit& p : tuning.programs) text += program_line(p);
  }
  return text + "\nPKTMALLOC_CLASSES=" + classes_value(tuning) + "\n";
}

std::string tuning_def(const Tuning& tuning) {
  const SizeRecording& r = tuning.recording;
  std::string text = fmt::format(
      "// SPDX-License-Identifier: MIT\n"
      "// Size classes in bytes, ascending, for {}. CLASS(bytes)\n"
      "// Made by pktmalloc tune from {} of {}: at their peak {} were lost to rounding\n"
      "// ({}), with the default table {} ({}).\n",
      programs_text(r), plural(r.files, "recording"), plural(r.calls(), "call"),
      bytes(tuning.after.lost), share_text(tuning.after.lost, tuning.after.requested),
      bytes(tuning.before.lost), share_text(tuning.before.lost, tuning.before.requested));
  for (const size_t size : tuning.table) text += fmt::format("CLASS({})\n", size);
  return text;
}

}  // namespace pktmalloc

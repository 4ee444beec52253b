// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "tools/command/tune/tuning.h"

namespace pktmalloc {
namespace {

using Json = nlohmann::ordered_json;

Json table_json(const TableFit& fit, const MemoryPrediction& prediction) {
  const std::optional<uint64_t> memory = prediction.with(fit);
  Json classes = Json::array();
  for (const ClassFit& c : fit.classes) {
    classes.push_back({{"bytes", c.bytes},
                       {"calls", c.calls},
                       {"objects_at_peak", c.objects},
                       {"requested_bytes_at_peak", c.requested},
                       {"rounding_bytes_at_peak", c.lost()},
                       {"page_bytes", c.page_bytes},
                       {"threads", c.threads}});
  }
  return {{"requested_bytes_at_peak", fit.requested},
          {"rounding_bytes_at_peak", fit.lost},
          {"page_bytes", fit.page_bytes},
          {"memory_bytes", memory ? Json(*memory) : Json()},
          {"passed_calls", fit.passed_calls},
          {"passed_objects_at_peak", fit.passed_objects},
          {"passed_bytes_at_peak", fit.passed_bytes},
          {"classes", classes}};
}

Json programs_json(const std::vector<ProgramFit>& programs) {
  Json all = Json::array();
  for (const ProgramFit& p : programs) {
    all.push_back({{"program", p.program},
                   {"recordings", p.files},
                   {"default_page_bytes", p.before},
                   {"tuned_page_bytes", p.after},
                   {"own_page_bytes", p.own}});
  }
  return all;
}

}  // namespace

std::string tuning_json(const Tuning& tuning) {
  const SizeRecording& r = tuning.recording;
  const Json json = {{"schema", 1},
                     {"content", "tuning"},
                     {"programs", r.programs},
                     {"recordings", r.files},
                     {"earlier_recordings", r.earlier},
                     {"calls", r.calls()},
                     {"objects_at_peak", r.objects_at_peak()},
                     {"bytes_at_peak", r.bytes_at_peak()},
                     {"missing", r.missing},
                     {"memory_unknown", tuning.memory.unknown()},
                     {"PKTMALLOC_CLASSES", classes_value(tuning)},
                     {"least_rounding_bytes_at_peak", tuning.least},
                     {"default", table_json(tuning.before, tuning.memory)},
                     {"tuned", table_json(tuning.after, tuning.memory)},
                     {"by_program", programs_json(tuning.programs)}};
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pktmalloc

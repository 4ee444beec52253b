// SPDX-License-Identifier: MIT
#include "tools/command/compare/rounds.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "tools/command/failure.h"
#include "tools/command/system/interruption.h"
#include "tools/command/system/progress.h"

namespace pktmalloc {
namespace {

Execution run_once(const Comparison& c, const Contender& contender, const Procedure& procedure) {
  if (!procedure.prepare.empty()) prepare(procedure.prepare, procedure.show);
  if (!contender.classes.empty()) setenv(kClasses, contender.classes.c_str(), 1);
  const std::string& library = contender.allocator.library;
  const std::vector<std::string>& words = c.words_of(contender);
  return procedure.service.is_wanted() ? execute(procedure.service, words, library, procedure.show)
                                       : execute(words, library, procedure.show);
}

// What fails under the allocator that it has anyway is no matter of allocators.
void try_first(const Comparison& c, Contender& contender, const Procedure& procedure) {
  Contender as_it_is;
  as_it_is.words = c.words_of(contender);
  const Execution first = run_once(c, as_it_is, procedure);
  if (!first.succeeded() && !is_interrupted()) {
    throw Failure("{} fails as it is ({}): see why with --show{}", as_it_is.words[0], first.failure,
                  procedure.service.is_wanted()
                      ? ""
                      : ", or compare sh -c '...; true' if that is its usual status");
  }
  if (first.succeeded()) contender.outputs.insert(first.output);
}

void add(std::vector<Execution>& runs, Contender& contender, const Execution& run) {
  if (!run.succeeded()) {
    contender.failure = run.failure;
    return;
  }
  runs.push_back(run);
  contender.outputs.insert(run.output);
}

void fill_figures(Contender& contender, const std::vector<Execution>& runs) {
  const auto fill = [&](Figure figure, double Execution::*value) {
    std::vector<double> values;
    for (const Execution& run : runs) values.push_back(run.*value);
    contender.figures[figure] = Samples(values);
  };
  if (!contender.failure.empty()) return;
  fill(kTime, &Execution::wall_ms);
  fill(kCpu, &Execution::cpu_ms);
  fill(kPeak, &Execution::peak_bytes);
  fill(kFaults, &Execution::faults);
}

}  // namespace

void run_rounds(Comparison& c, const Procedure& procedure) {
  std::vector<std::vector<Execution>> runs(c.contenders.size());
  std::vector<size_t> order(c.contenders.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(std::random_device{}());
  Progress progress(order.size() * static_cast<size_t>(c.rounds));
  for (Contender& contender : c.contenders) {
    progress.tell(0, contender.allocator.name + ", not counted");
    if (!is_interrupted()) try_first(c, contender, procedure);
    if (!c.is_of_commands()) break;
  }
  size_t run = 0;
  for (int round = 1 - procedure.warmup; round <= c.rounds && !is_interrupted(); ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      Contender& contender = c.contenders[i];
      const std::string& name = contender.allocator.name;
      if (round > 0) ++run;
      if (!contender.failure.empty() || is_interrupted()) continue;
      progress.tell(run, round > 0 ? name : name + ", not counted");
      const Execution last = run_once(c, contender, procedure);
      if (!is_interrupted() && (round > 0 || !last.succeeded())) add(runs[i], contender, last);
    }
  }
  c.interrupted = is_interrupted();
  for (size_t i = 0; i < runs.size(); ++i) fill_figures(c.contenders[i], runs[i]);
}

}  // namespace pktmalloc

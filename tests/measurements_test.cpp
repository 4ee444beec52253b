// SPDX-License-Identifier: MIT
// Measurements of the benchmarks: what `measure` tells of a run (tools/bench/programs/measure.c),
// and what follows from the samples of many (tools/bench/results.py).
#include <catch2/catch.hpp>

#include <signal.h>

#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/temporary_folder.h"

namespace {

using Words = std::vector<std::string>;

Program measure(const TemporaryFolder& folder, const std::string& library, const Words& command,
                const std::string& usage = "usage.json") {
  Words words = {build_path("bench/measure"), folder / usage, library};
  words.insert(words.end(), command.begin(), command.end());
  return Program(words);
}

}  // namespace

TEST_CASE("measure passes exit status and streams on") {
  TemporaryFolder folder;
  const auto shell = [&](const std::string& script) {
    return measure(folder, "", {"sh", "-c", script}).run();
  };
  const Outcome outcome = shell("echo out; echo err >&2; exit 7");
  CHECK(outcome.status == 7);
  CHECK(outcome.out == "out\n");
  CHECK(outcome.err == "err\n");
  CHECK(shell("exit 0").clean());
  CHECK(shell("kill -KILL $$").status == 128 + SIGKILL);
  CHECK(shell("kill -TERM $$").status == 128 + SIGTERM);
  CHECK(measure(folder, "", {"/nonexistent/command"}).run().status == 127);
  CHECK(measure(folder, "", {}).run().status == 2);
  CHECK(measure(folder, "", {"true"}, "missing/usage.json").run().status == 2);
}

TEST_CASE("measure preloads the library that is named, and else none") {
  TemporaryFolder folder;
  const Words tell = {"sh", "-c", "echo ${LD_PRELOAD-unset}"};
  CHECK(measure(folder, library_path(), tell).run().out == library_path() + "\n");
  CHECK(measure(folder, "", tell).run().out == "unset\n");
  CHECK(measure(folder, "", tell).preloaded().run().out == "unset\n");
}

TEST_CASE("measure tells time, memory and faults of the command and its children") {
  TemporaryFolder folder;
  const auto figure = [&](const std::string& name) {
    const std::string usage = folder.read("usage.json");
    INFO(usage);
    const size_t at = usage.find("\"" + name + "\": ");
    REQUIRE(at != std::string::npos);
    return std::stod(usage.substr(at + name.size() + 4));
  };
  const auto processor_ms = [&] { return figure("user_ms") + figure("system_ms"); };

  CHECK(measure(folder, "", {"sh", "-c", "dd if=/dev/zero of=/dev/null bs=50M count=1 2>&1; :"})
            .run()
            .status == 0);
  CHECK(figure("process_peak_mib") > 50);
  CHECK(figure("process_peak_mib") < 70);
  CHECK(figure("minor_faults") > 100);
  CHECK(measure(folder, "", {"sleep", "0.2"}).run().clean());
  CHECK(figure("process_peak_mib") < 10);
  CHECK(figure("wall_ms") >= 200);
  CHECK(processor_ms() < 100);
  const std::string count = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
  CHECK(measure(folder, "", {"sh", "-c", "sh -c '" + count + "'; :"}).run().clean());
  CHECK(processor_ms() > 20);
  CHECK(processor_ms() < 1.1 * figure("wall_ms") + 20);
}

TEST_CASE("medians, ratios, losses and means are as computed by hand") {
  const char script[] = R"(
import math, sys
sys.path.insert(0, "tools/bench")
from experiment import Experiment, Row
from results import Results, find_losses, group_means

first = Experiment("W3", "first", [Row("first")])
second = Experiment("W3", "second", [
    Row("second", "ns", "ns"), Row("second, peak", "MiB", "mib"),
    Row("second, even", "MiB", "even")])
other = Experiment("W4", "other", [Row("other")])
names = ["glibc", "jemalloc", "mimalloc", "pktmalloc"]
results = Results(names)
def add(experiment, name, **figures):
    for values in zip(*figures.values()):
        results.add(experiment, name, dict(zip(figures, values)))

add(first, "glibc", ms=[10, 20, 12])
add(first, "jemalloc", ms=[8, 9, 7])
add(first, "mimalloc", ms=[16, 16, 16])
add(first, "pktmalloc", ms=[6, 4, 5])
add(second, "glibc", ns=[2, 4], mib=[100, 100], even=[100, 100])
add(second, "jemalloc", ns=[30, 10], mib=[30, 70], even=[300, 300])
add(second, "mimalloc", ns=[1, 1], mib=[1, 1], even=[1, 1])
results.fail(second, "mimalloc", "exit status 1")
add(second, "pktmalloc", ns=[6, 6], mib=[60, 60], even=[100, 101])
add(other, "glibc", ms=[5])
add(other, "pktmalloc", ms=[0])

assert [results.median(first, "ms", name) for name in names] == [12, 8, 16, 5]
assert [results.median(second, "ns", name) for name in names] == [3, 20, None, 6]
assert results.median(first, "ns", "glibc") is results.median(first, "ms", "nobody") is None
assert results.spread(first, "ms", "glibc") == 10 / 12
assert results.spread(second, "ns", "jemalloc") == 1
assert results.spread(other, "ms", "pktmalloc") == results.spread(other, "ms", "jemalloc") == 0
assert results.best_peer(first, "ms") == ("jemalloc", 8)
assert results.best_peer(second, "mib") == ("jemalloc", 50)
assert results.best_peer(other, "ms") == (None, None)
assert results.ratio(first, "ms", "glibc") == 2.4 and results.ratio(second, "ns", "glibc") == 0.5
assert results.ratio(second, "ns", "mimalloc") is results.ratio(other, "ms", "glibc") is None
assert results.is_beyond_noise(first, "ms", "jemalloc")    # 4..6 below 7..9
assert results.is_beyond_noise(second, "ns", "glibc")      # 6 above 2..4
assert not results.is_beyond_noise(second, "mib", "jemalloc")  # 60 within 30..70

losses = find_losses(results, [first, second, other])  # 100.5 beside 100 is none
assert [(loss.row.name, loss.other, loss.times, loss.beyond_noise) for loss in losses] == [
    ("second", "glibc", 2, True), ("second, peak", "jemalloc", 1.2, False)], losses
means = group_means(results, [first, second])
assert list(means) == ["W3"] and set(means["W3"]) == {"glibc", "jemalloc", "pktmalloc"}, means
for name, mean in ("glibc", 1), ("jemalloc", math.sqrt(40 / 9)), ("pktmalloc", math.sqrt(5 / 6)):
    assert abs(means["W3"][name] - mean) < 1e-9, means
)";
  const Outcome outcome = Program({"/usr/bin/python3", "-c", script}).run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("every row is held against the target of its kind") {
  const char script[] = R"(
import sys
sys.path.insert(0, "tools/bench")
from types import SimpleNamespace
from catalogue import experiments_of
from results import Results
from targets import check_targets

experiments = experiments_of("standard", 0.2)
names = ["glibc", "jemalloc", "mimalloc", "pktmalloc"]
results = Results(names)
for experiment in experiments:
    for name in [*names, *experiment.contenders]:
        results.add(experiment, name, {row.figure: 2 if name == "pktmalloc" else 1
                                       for row in experiment.rows})
bounds = {line["target"]: (line["bound"], line["value"], line["reached"])
          for line in check_targets(SimpleNamespace(results=results, experiments=experiments))}
peers = "times the best peer's"
for target, limit in {
        "floor 64 B, pair: times the empty functions": 1.05,
        f"W2 boost, 20 producers: {peers}": 1.1, f"W2 boost, 20 producers, CPU time: {peers}": 1,
        f"W2 pipeline, 4 producers: {peers}": 1.1, f"W2 pipeline, 1 producer, CPU time: {peers}": 1,
        f"W4 1 thread: {peers}": 1, f"W4 2 threads: {peers}": 0.5,
        f"W4 touched, 1 thread: {peers}": 1, f"W4 touched, 8 threads: {peers}": 1,
        "W6 few pages a size: times glibc's": 1, "W6 perl, orders: times glibc's": 1,
        f"W6 perl, orders: {peers}": 1.03, f"W6 redis-server: {peers}": 1.03,
        "W6 mstress, 4 threads, peak RSS: times the better of jemalloc and mimalloc": 1.1,
        f"W6: geometric mean of time, {peers}": 0.95,
        f"W7 flat out, malloc p99.9: {peers}": 1, f"W7 at 200,000/s, free p99.99: {peers}": 1,
        "drifting sizes, peak / live: times what the program held": 1.3}.items():
    assert bounds[target][0] == f"at most {limit:g}", (target, bounds[target])
    assert not bounds[target][2] and abs(bounds[target][1] - 2) < 1e-9, (target, bounds[target])
assert bounds["RSS of 1000 threads: MiB above glibc"] == ("at most 20", 1, True), bounds
for row in "W6 few pages a size", "W6 perl, orders, peak RSS", "W7 flat out, cold malloc p99.9":
    assert f"{row}: {peers}" not in bounds, row
)";
  const Outcome outcome = Program({"/usr/bin/python3", "-c", script}).run();
  INFO(outcome);
  CHECK(outcome.clean());
}

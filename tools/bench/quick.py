#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every workload under every allocator and prints one table.

Each workload is a small program (see the first lines of tools/bench/*.cpp) that measures itself and
prints one line of JSON. Per workload there is one uncounted run per allocator, then --rounds rounds
in which every allocator runs once, in an order shuffled anew. The table shows medians. Workloads
that wait for seconds to see memory go back run once. Progress goes to stderr, the table and the
targets to stdout. A missed target is a result, not an error: the exit status is 1 only when a
program failed.
"""
import argparse
import datetime
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

OWN = "pktmalloc"
GLIBC = "glibc"
REFERENCE = "reference"
PEERS = {
    "jemalloc": ["libjemalloc.so.2"],
    "mimalloc": ["libmimalloc.so.2.0", "libmimalloc.so.2"],
    "tcmalloc": ["libtcmalloc_minimal.so.4"],
}
LIBRARY_FOLDERS = [f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib",
                   "/usr/local/lib"]
TIMEOUT_SECONDS = 120
SPREAD_LIMIT = 0.15


@dataclass
class Row:
    name: str
    unit: str
    figure: str  # its name in the program's JSON


@dataclass
class Experiment:
    """One command; from its figures, one or more rows of the table."""
    command: str
    rows: list
    reference: str = ""  # the hand-written alternative: a command that runs under glibc
    rounds_factor: float = 1  # 0: one run, no warm-up


EMPTY = "libempty.so"  # as a reference: the same command, preloaded with the empty functions


def timed(command, name, reference="", rounds_factor=1.0):
    return Experiment(command, [Row(name, "ms", "ms")], reference, rounds_factor)


def floor(size):
    return Experiment(f"floor {size} 20000000", [Row(f"floor {size} B, pair", "ns", "ns_per_pair")],
                      EMPTY)


def w1(variant, name, by_hand):
    count = 300_000
    # A run has ten rounds of its own, and glibc's take long.
    return timed(f"w1_packets {variant} {count}", name, f"w1_packets {by_hand} {count}", 0.6)


def w2(producers):
    # Threads that wait for each other scatter; a run is short.
    name = f"W2 {producers} producer{'s' * (producers > 1)}"
    return timed(f"w2_queue {producers} {2_000_000 // producers}", name, rounds_factor=2)


def w4(threads, rounds):
    name = f"W4 {threads} thread{'s' * (threads > 1)}"
    return timed(f"w4_exchange {threads} {rounds}", name)


def w5(payload):
    return timed(f"w5_ring unique_ptr {payload}", f"W5 unique_ptr {payload} B",
                 f"w5_ring pool {payload}", 2)


def peak(threads, mode):
    name = f"peak, {threads} thread{'s' * (threads > 1)} {mode}"
    return Experiment(f"peak {threads} {mode}", [Row(name, "MiB", "later_mib")], rounds_factor=0)


EXPERIMENTS = [
    floor(64),
    floor(1500),
    w1("shared_ptr_new", "W1 shared_ptr(new)", "pool_deleter"),
    w1("make_shared", "W1 make_shared", "allocate_shared"),
    w1("new_delete", "W1 new and delete", "pool_only"),
    *[w2(producers) for producers in (1, 2, 8, 20)],
    timed("w3_rationals new_delete 5000", "W3 rationals", "w3_rationals free_list 5000"),
    w4(1, 50), w4(2, 50), w4(8, 12), w4(16, 6),
    *[w5(payload) for payload in (16, 64, 256)],
    timed("w5_ring make_shared 64", "W5 make_shared 64 B"),
    Experiment("mixed 4 20 50000", [Row("mixed sizes", "ms", "ms"),
                                    Row("mixed, page faults", "", "minor_faults")]),
    Experiment("startup", [Row("RSS at start", "MiB", "mib")]),
    Experiment("threads1000", [Row("RSS of 1000 threads", "MiB", "mib")]),
    Experiment("w4_memory 16", [Row("W4 memory, held", "MB", "peak_mb"),
                                Row("W4 memory, 3 s later", "MB", "later_mb")], rounds_factor=0),
    Experiment("peak 2 light", [Row("peak, 2 threads", "MiB", "peak_mib"),
                                Row("peak, 2 threads light", "MiB", "later_mib")],
               rounds_factor=0),
    peak(2, "idle"), peak(1, "light"), peak(2, "pairs"),
]

LEGEND = f"""\
Medians; less is better in every row. ~: (max - min) / median is over {SPREAD_LIMIT:.0%}.
A median is of --rounds runs; W1 has fewer, W2 and W5 twice as many, W4 memory and peak one.
vs glibc, vs peer: the value of glibc, of the best peer, divided by {OWN}'s: over 1 is a win.
reference: floor = a library of empty functions; by hand, under glibc: W1 = a pool (with a deleter,
  with allocate_shared, alone), W3 = a class-specific free list, W5 = a vector pool.
peak: RSS while all objects are held; light, idle, pairs: what is left 4 s after all were freed."""


class RunFailed(Exception):
    pass


def run_program(programs, command, library):
    """One run; the figures it printed."""
    name, *arguments = command.split()
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    if library:
        environment["LD_PRELOAD"] = library
    try:
        done = subprocess.run([os.path.join(programs, name), *arguments], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise RunFailed(f"did not end within {TIMEOUT_SECONDS} s") from None
    except OSError as error:
        raise RunFailed(f"{error}") from None
    if "cannot be preloaded" in done.stderr:
        raise RunFailed(done.stderr.strip())
    if done.returncode != 0:
        last_words = done.stderr.strip().splitlines()[-1:]
        raise RunFailed(" ".join([f"exit status {done.returncode}", *last_words]))
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise RunFailed(f"printed no JSON: {done.stdout[:80]!r}") from None


@dataclass
class Results:
    """All samples by row and allocator; what failed by the same."""
    samples: dict = field(default_factory=dict)
    failed: dict = field(default_factory=dict)

    def add(self, row, allocator, value):
        self.samples.setdefault((row, allocator), []).append(value)

    def median(self, row, allocator):
        if (row, allocator) in self.failed or (row, allocator) not in self.samples:
            return None
        return statistics.median(self.samples[row, allocator])

    def spread(self, row, allocator):
        samples, median = self.samples[row, allocator], self.median(row, allocator)
        return (max(samples) - min(samples)) / median if median else 0.0

    def best_peer(self, row, allocators):
        peers = [name for name in allocators if name not in (GLIBC, OWN)]
        values = [value for name in peers if (value := self.median(row, name)) is not None]
        return min(values, default=None)


def run_experiment(experiment, options, allocators, results):
    contenders = {name: (experiment.command, library) for name, library in allocators.items()}
    if experiment.reference == EMPTY:
        empty = os.path.abspath(os.path.join(options.programs, EMPTY))
        contenders[REFERENCE] = (experiment.command, empty)
    elif experiment.reference:
        contenders[REFERENCE] = (experiment.reference, None)
    warm_ups = 1 if experiment.rounds_factor > 0 else 0
    rounds = max(1, round(options.rounds * experiment.rounds_factor))
    for number in range(-warm_ups, rounds):
        order = list(contenders)
        random.shuffle(order)
        for name in order:
            command, library = contenders[name]
            try:
                figures = run_program(options.programs, command, library)
            except RunFailed as failure:
                print(f"FAILED {command} under {name}: {failure}", file=sys.stderr)
                for row in experiment.rows:
                    results.failed[row.name, name] = str(failure)
                del contenders[name]
                continue
            for row in experiment.rows if number >= 0 else []:
                results.add(row.name, name, figures[row.figure])


def value_text(results, row, allocator):
    if (row.name, allocator) in results.failed:
        return "failed "
    value = results.median(row.name, allocator)
    if value is None:
        return "- "
    digits = 0 if row.unit == "" or value >= 1000 else 1 if value >= 10 else 2
    mark = "~" if results.spread(row.name, allocator) > SPREAD_LIMIT else " "
    return f"{value:.{digits}f}{mark}"


def ratio_text(other, own):
    return f"{other / own:.2f}" if other is not None and own else "-"


def print_table(rows, allocators, results):
    columns = {name: max(9, len(name) + 1) for name in [REFERENCE, *allocators]}
    print(f"{'workload':22} {'unit':4}"
          + "".join(f"{name:>{width}}" for name, width in columns.items())
          + f"{'vs glibc':>9}{'vs peer':>8}")
    for row in rows:
        own = results.median(row.name, OWN)
        print(f"{row.name:22} {row.unit:4}"
              + "".join(f"{value_text(results, row, name):>{width}}"
                        for name, width in columns.items())
              + f"{ratio_text(results.median(row.name, GLIBC), own):>9}"
              + f"{ratio_text(results.best_peer(row.name, allocators), own):>8}")
    print()
    print(LEGEND)


class Targets:
    """Compares measured values with the targets; knows only rows that were run."""

    def __init__(self, results, allocators, rows):
        self.results, self.allocators = results, allocators
        self.rows = {row.name for row in rows}
        self.lines = []

    def check(self, row, what, value, limit, at_most, digits=2):
        if row not in self.rows:
            return
        bound = f"{'at most' if at_most else 'at least'} {limit:.{digits}f}"
        line = {"target": f"{row}: {what}", "bound": bound, "value": value, "reached": None}
        if value is None:
            verdict, shown = "not measured", "-"
        else:
            line["reached"] = value <= limit if at_most else value >= limit
            distance = f"{abs(value - limit) / limit:.0%}" if limit > 0 else f"{value - limit:.1f}"
            if distance == "0%":
                distance = "less than 1%"
            verdict = "reached" if line["reached"] else f"MISSED by {distance}"
            shown = f"{value:.{digits}f}"
        line["text"] = f"{row + ': ' + what:58} {shown:>7}, {bound:15} {verdict}"
        self.lines.append(line)

    def own(self, row):
        return self.results.median(row, OWN)

    def ratio(self, numerator, denominator):
        return numerator / denominator if numerator is not None and denominator else None

    def floor(self, row, limit):
        value = self.ratio(self.own(row), self.results.median(row, REFERENCE))
        self.check(row, "times the empty functions", value, limit, True)

    def faster_than_glibc(self, row, limit):
        value = self.ratio(self.results.median(row, GLIBC), self.own(row))
        self.check(row, "times as fast as glibc", value, limit, False)

    def faster_than_peers(self, row, limit=1.0):
        value = self.ratio(self.results.best_peer(row, self.allocators), self.own(row))
        self.check(row, "times as fast as the best peer", value, limit, False)

    def level_with_peers(self, row, limit):
        value = self.ratio(self.own(row), self.results.best_peer(row, self.allocators))
        self.check(row, "times the best peer's time", value, limit, True)

    def not_above_glibc(self, row, limit, what):
        value = self.ratio(self.own(row), self.results.median(row, GLIBC))
        self.check(row, what, value, limit, True)

    def memory(self, row, limit, unit):
        self.check(row, unit, self.own(row), limit, True, 1)

    def memory_above_glibc(self, row, limit):
        own, glibc = self.own(row), self.results.median(row, GLIBC)
        value = own - glibc if own is not None and glibc is not None else None
        self.check(row, "MiB above glibc", value, limit, True, 1)


def check_targets(results, allocators, rows):
    targets = Targets(results, allocators, rows)
    for size in (64, 1500):
        targets.floor(f"floor {size} B, pair", 1.15)
    for row in ("W1 shared_ptr(new)", "W1 make_shared"):
        targets.faster_than_glibc(row, 20)
        targets.faster_than_peers(row)
    for row in ("W2 1 producer", "W2 2 producers", "W2 8 producers", "W2 20 producers"):
        targets.level_with_peers(row, 1.03)
    targets.faster_than_glibc("W3 rationals", 2.1)
    targets.faster_than_peers("W3 rationals")
    for row, limit in (("W4 1 thread", 1), ("W4 2 threads", 1),
                       ("W4 8 threads", 1.5), ("W4 16 threads", 1.5)):
        targets.faster_than_peers(row, limit)
    for payload in (16, 64, 256):
        targets.level_with_peers(f"W5 unique_ptr {payload} B", 1.03)
    targets.not_above_glibc("mixed sizes", 1.0, "times glibc's time")
    targets.not_above_glibc("mixed, page faults", 1.5, "times glibc's")
    targets.memory_above_glibc("RSS at start", 1)
    targets.memory_above_glibc("RSS of 1000 threads", 40)
    targets.memory("W4 memory, held", 112, "MB")
    targets.memory("W4 memory, 3 s later", 16, "MB")
    for row in ("peak, 2 threads light", "peak, 2 threads idle", "peak, 1 thread light"):
        targets.memory(row, 16, "MiB")
    return targets.lines


def first_line(path, prefix=""):
    """The first line of the file that begins so, without the beginning; "" when there is none."""
    try:
        with open(path) as lines:
            return next((line[len(prefix):].strip(" \t:\n") for line in lines
                         if line.startswith(prefix)), "")
    except OSError:
        return ""


def describe_machine():
    folder = os.path.dirname(os.path.abspath(__file__))
    commit = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=40"],
                            capture_output=True, text=True)
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() if commit.returncode == 0 else "unknown",
        "cpu": first_line("/proc/cpuinfo", "model name") or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "kernel": platform.release(),
        "glibc": os.confstr("CS_GNU_LIBC_VERSION"),
        "transparent_hugepages": first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "overcommit_memory": first_line("/proc/sys/vm/overcommit_memory"),
        "options": {key: value for key, value in os.environ.items()
                    if key.startswith(("PKTMALLOC_", "MALLOC_", "MIMALLOC_", "TCMALLOC_"))
                    or key == "GLIBC_TUNABLES"},
    }


def write_record(path, machine, options, allocators, rows, results, targets):
    record = {
        "machine": machine, "rounds": options.rounds, "allocators": allocators,
        "rows": [{
            "name": row.name, "unit": row.unit,
            "samples": {name: results.samples.get((row.name, name), [])
                        for name in [REFERENCE, *allocators]},
            "median": {name: results.median(row.name, name) for name in [REFERENCE, *allocators]},
            "failed": {name: text for (failed, name), text in results.failed.items()
                       if failed == row.name},
        } for row in rows],
        "targets": [{key: line[key] for key in ("target", "bound", "value", "reached")}
                    for line in targets],
    }
    with open(path, "w") as output:
        json.dump(record, output, indent=1)
        output.write("\n")


def find_allocators(options):
    """Name and library of every allocator that is there, in the order of the table."""
    allocators = {GLIBC: None}
    for name, files in PEERS.items():
        candidates = [os.path.join(folder, file) for file in files for folder in LIBRARY_FOLDERS]
        found = next((path for path in candidates if os.path.exists(path)), None)
        if found:
            allocators[name] = found
        elif name not in dict(options.allocator):
            print(f"{name}: {files[0]} is not installed, skipped", file=sys.stderr)
    allocators.update(options.allocator)
    allocators[OWN] = dict(options.allocator).get(OWN, options.library)
    allocators[OWN] = allocators.pop(OWN)  # the last column
    for name, path in allocators.items():
        if path and not os.path.exists(path):
            sys.exit(f"{name}: there is no library {path} (`make` builds pktmalloc)")
    return {name: path and os.path.abspath(path) for name, path in allocators.items()}


def parse_allocator(text):
    name, separator, path = text.partition("=")
    if not (name and separator and path) or name in (GLIBC, REFERENCE):
        raise argparse.ArgumentTypeError(f"expected name=path.so, not {text!r}")
    return name, path


def parse_rounds(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a positive number, not {text!r}")
    return int(text)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="build/bench", metavar="FOLDER",
                        help="the built programs (default: %(default)s)")
    parser.add_argument("--library", default="build/libpktmalloc.so", metavar="FILE",
                        help="pktmalloc (default: %(default)s)")
    parser.add_argument("--allocator", type=parse_allocator, action="append", default=[],
                        metavar="NAME=FILE", help="one more allocator, or another library for one "
                        "that is known; may be repeated")
    parser.add_argument("--rounds", type=parse_rounds, default=5, metavar="N",
                        help="counted rounds (default: %(default)s)")
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="just the workloads in whose name this occurs, such as W4")
    parser.add_argument("--json", metavar="FILE", help="write all samples as JSON")
    options = parser.parse_args()
    if not os.access(os.path.join(options.programs, "floor"), os.X_OK):
        parser.error(f"no programs in {options.programs} (`make bench-programs` builds them)")
    return options


def main():
    options = parse_options()
    allocators = find_allocators(options)
    chosen = [experiment for experiment in EXPERIMENTS
              if any(options.only.lower() in row.name.lower() for row in experiment.rows)]
    if not chosen:
        names = "\n  ".join(row.name for experiment in EXPERIMENTS for row in experiment.rows)
        sys.exit(f"no workload is named like {options.only!r}; there are:\n  {names}")
    rows = [row for experiment in chosen for row in experiment.rows]
    results = Results()
    machine = describe_machine()
    begin = time.monotonic()
    for number, experiment in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}, {time.monotonic() - begin:.0f} s] {experiment.command}",
              file=sys.stderr)
        run_experiment(experiment, options, allocators, results)

    print(f"{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, "
          f"{machine['glibc']}, load at start {machine['load']:.1f}\n"
          f"commit {machine['commit']}, {machine['date']}, {time.monotonic() - begin:.0f} s\n")
    print_table(rows, allocators, results)
    targets = check_targets(results, allocators, rows)
    if targets:
        print("\ntargets")
        for line in targets:
            print(line["text"])
    if options.json:
        write_record(options.json, machine, options, allocators, rows, results, targets)
    if results.failed:
        print("\nfailed")
        for (row, name), failure in results.failed.items():
            print(f"{row} under {name}: {failure}")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every workload under every allocator and prints one table.

Each workload is a small program (see the first lines of tools/bench/programs/) that measures itself and
prints one line of JSON. Per workload there is one uncounted run per allocator, then --rounds rounds
in which every allocator runs once, in an order shuffled anew. The table shows medians. Workloads
that wait for seconds to see memory go back run once. Progress goes to stderr, the table and the
targets to stdout. A missed target is a result, not an error: the exit status is 1 only when a
program failed.
"""
import argparse
import json
import os
import platform
import random
import subprocess
import sys
import time

from experiments import EMPTY, EXPERIMENTS
from record import describe_machine, write_record
from results import GLIBC, OWN, REFERENCE, Results, print_table
from targets import check_targets

PEERS = {
    "jemalloc": ["libjemalloc.so.2"],
    "mimalloc": ["libmimalloc.so.2.0", "libmimalloc.so.2"],
    "tcmalloc": ["libtcmalloc_minimal.so.4"],
}
LIBRARY_FOLDERS = [f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib",
                   "/usr/local/lib"]
TIMEOUT_SECONDS = 120


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

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs W1 to W7 with every setting of transparent huge pages, as root, and prints what each costs.

The system's setting (/sys/kernel/mm/transparent_hugepage/enabled) changes from run to run, in an
order shuffled anew in each round, and is put back at the end. Beside it stands what
PKTMALLOC_HUGEPAGES says. Tables show the geometric mean, over the rows of a workload, of medians
divided by those where the system says `madvise` and the option is `auto`; then each row's. Times
and, for W1 to W6, the peak RSS and page faults.
"""
import argparse
import os
import random
import sys

from catalogue import experiments_of
from results import Results, geometric_mean
from run import RunFailed, Runner

ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"
USUAL = ("madvise", "auto")
SETTINGS = [USUAL, ("madvise", "madvise"), ("always", "auto"), ("always", "never"),
            ("never", "auto")]
WORKLOADS = [f"W{number}" for number in range(1, 8)]
MEMORY = {"process_peak_mib": "peak RSS", "minor_faults": "page faults"}
# The rows of W7 that do not depend on a single call.
STEADY = ("p50", "p90", "p99", "p99.9")


def system_setting():
    with open(ENABLED) as file:
        return file.read().partition("[")[2].partition("]")[0]


def set_system(setting):
    with open(ENABLED, "w") as file:
        file.write(setting)


def name_of(setting):
    return "/".join(setting)


def run_round(experiments, runner, results, library):
    for experiment in experiments:
        for setting in random.sample(SETTINGS, len(SETTINGS)):
            system, option = setting
            set_system(system)
            try:
                figures = runner.run(experiment, experiment.command, library,
                                     {"PKTMALLOC_HUGEPAGES": option})
            except RunFailed as failure:
                print(f"FAILED {experiment.command}, {name_of(setting)}: {failure}", file=sys.stderr)
                results.fail(experiment, name_of(setting), str(failure))
                continue
            results.add(experiment, name_of(setting), figures)


def figures_of(experiment):
    """(row's name, figure, group) of what is compared."""
    rows = [row for row in experiment.rows
            if experiment.workload != "W7" or row.name.split()[-1] in STEADY]
    yield from ((row.name, row.figure, experiment.workload) for row in rows)
    if experiment.workload != "W7":
        for figure, what in MEMORY.items():
            yield f"{rows[0].name}: {what}", figure, f"{experiment.workload}: {what}"


def print_tables(experiments, results):
    groups, lines = {}, []
    for experiment in experiments:
        for name, figure, group in figures_of(experiment):
            base = results.median(experiment, figure, name_of(USUAL))
            values = [results.median(experiment, figure, name_of(each)) for each in SETTINGS]
            if not base or None in values:
                continue
            ratios = [max(value, 0.01) / base for value in values]
            groups.setdefault(group, []).append(ratios)
            lines.append(row(name, [f"{base:.4g}", *(f"{ratio:.2f}" for ratio in ratios[1:])]))
    head = row("system says/option", map(name_of, SETTINGS))
    print(head)
    for group, ratios in groups.items():
        print(row(group, (f"{geometric_mean(each):.2f}" for each in zip(*ratios))))
    print("\n" + head, *lines, sep="\n")


def row(name, cells):
    return f"{name:44}" + "".join(f"{cell:>17}" for cell in cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", metavar="FOLDER",
                        help="with bench/ and libpktmalloc.so in it (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default: %(default)s")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="may be repeated")
    options = parser.parse_args()
    if not os.access(ENABLED, os.W_OK):
        sys.exit(f"{ENABLED} cannot be written: this needs root, and transparent huge pages")
    runner = Runner(os.path.join(options.build, "bench"))
    experiments = [each for each in experiments_of("standard", 0.2)
                   if each.workload in (options.only or WORKLOADS) and each.runs
                   and not each.missing(runner.programs, each.command)]
    library = os.path.abspath(os.path.join(options.build, "libpktmalloc.so"))
    results = Results([name_of(each) for each in SETTINGS])
    former = system_setting()
    try:
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
            run_round(experiments, runner, results, library)
    except KeyboardInterrupt:
        print("interrupted; this is what there is", file=sys.stderr)
    finally:
        set_system(former)
    print_tables(experiments, results)


if __name__ == "__main__":
    main()

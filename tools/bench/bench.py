#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every workload under every allocator and prints what came out, the losses first.

Each workload is a program that measures itself and prints one line of JSON (tools/bench/programs),
or a real program. First the commands run once uncounted under glibc; then, in every round, under
every allocator, in an order shuffled anew. Workloads that wait for seconds to see memory go
back run once in all. Tables show medians. The record, a JSON file with every sample, is written
anew after each round: an interrupted run keeps what it has. Progress goes to stderr, the report to
stdout. A missed target is a result, not an error: the exit status is 1 only when a program failed.
"""
import argparse
import os
import random
import subprocess
import sys
import time

from allocators import GLIBC, add_options, find_allocators
from catalogue import SUITES, experiments_of
from record import Record, describe_machine
from report import print_report
from results import Results
from run import RunFailed, Runner
from targets import check_targets


def runs_of_round(record, number):
    """(experiment, name, command, library, environment) of every run of a round, experiment by experiment."""
    for experiment in record.experiments:
        contenders = {name: (experiment.command, allocator.library, {})
                      for name, allocator in record.allocators.items()}
        contenders.update({name: (contender.command or experiment.command, contender.preload,
                                  contender.environment)
                           for name, contender in experiment.contenders.items()})
        if number < 0:  # warms the file cache and the processor
            contenders = {GLIBC: contenders[GLIBC]}
        for _ in range(experiment.runs_in_round(number)):
            order = list(contenders)
            random.shuffle(order)
            for name in order:
                yield experiment, name, *contenders[name]


def run_round(record, runner, number, begin):
    runs = list(runs_of_round(record, number))
    what = "warm-up" if number < 0 else f"round {number + 1} of {record.rounds}"
    for done, (experiment, name, command, library, environment) in enumerate(runs):
        if (experiment.command, name) in record.results.failed:
            continue
        print(f"[{what}, {done}/{len(runs)}, {time.monotonic() - begin:.0f} s] {command} ({name})",
              file=sys.stderr)
        if library and not os.path.exists(library):
            library = os.path.abspath(os.path.join(runner.programs, library))
        try:
            figures = runner.run(experiment, command, library, environment)
        except RunFailed as failure:
            print(f"FAILED {command} under {name}: {failure}", file=sys.stderr)
            record.results.fail(experiment, name, str(failure))
            continue
        if number >= 0:
            record.results.add(experiment, name, figures)


def run_all(record, runner, path):
    """Every round; after each the record is written. Stops early, in order, at an interrupt."""
    begin = time.monotonic()
    try:
        for number in range(-1, record.rounds):
            run_round(record, runner, number, begin)
            record.rounds_done = number + 1
            finish(record, path, begin)
    except KeyboardInterrupt:
        print("interrupted; this is what there is", file=sys.stderr)
        finish(record, path, begin)


def finish(record, path, begin):
    record.seconds = time.monotonic() - begin
    record.targets = check_targets(record)
    record.write(path)


def positive(kind, most):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value <= most:
            raise argparse.ArgumentTypeError(f"expected a number above 0, at most {most}, "
                                             f"not {text!r}")
        return value
    return parse


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=SUITES, default="standard",
                        help="how much is run (default: %(default)s)")
    add_options(parser)
    parser.add_argument("--rounds", type=positive(int, 1000), metavar="N",
                        help="counted rounds (default: by suite)")
    parser.add_argument("--scale", type=positive(float, 100), metavar="X",
                        help="how much work a run does where a study published it; 1 is as published "
                        "(default: by suite)")
    parser.add_argument("--only", metavar="TEXT", action="append", default=[],
                        help="just the workload of this name, such as W4 or memory, or the rows in "
                        "whose name this occurs; may be repeated")
    parser.add_argument("--list", action="store_true", help="name the workloads and end")
    parser.add_argument("--json", metavar="FILE",
                        help="the record (default: record.json beside the programs)")
    parser.add_argument("--html", metavar="FILE", help="draw a page of charts, too (page.py)")
    options = parser.parse_args()
    suite = SUITES[options.suite]
    options.rounds = options.rounds or suite.rounds
    options.scale = options.scale or suite.scale
    options.programs = os.path.join(options.build, "bench")
    options.json = options.json or os.path.join(options.programs, "record.json")
    return options


def names_of(experiments):
    return "\n".join(f"  {row.name}" for experiment in experiments for row in experiment.rows)


def choose_experiments(options):
    """Those of the suite that --only names; of a command that is not there, a line says so."""
    everything = experiments_of(options.suite, options.scale)
    chosen = [experiment for experiment in everything
              if not options.only or any(text.lower() in [experiment.workload.lower()]
                                         or text.lower() in row.name.lower()
                                         for text in options.only for row in experiment.rows)]
    if not chosen:
        sys.exit(f"no workload is named like {' or '.join(options.only)}; there are:\n"
                 + names_of(everything))
    if options.list:
        print(names_of(chosen))
        sys.exit()
    if not os.access(os.path.join(options.programs, "measure"), os.X_OK):
        sys.exit(f"no programs in {options.programs} (`make bench-programs` builds them)")
    runnable = []
    for experiment in chosen:
        if missing := experiment.missing(options.programs, experiment.command):
            print(f"{experiment.rows[0].name}: {missing} is not installed, skipped",
                  file=sys.stderr)
            continue
        for name, contender in list(experiment.contenders.items()):
            if missing := (experiment.missing(options.programs, contender.command)
                           or contender.missing(options.programs)):
                print(f"{experiment.rows[0].name}, {name}: there is no {missing}, skipped",
                      file=sys.stderr)
                del experiment.contenders[name]
        runnable.append(experiment)
    return runnable or sys.exit("none of these programs is there")


def main():
    options = parse_options()
    experiments = choose_experiments(options)
    allocators = find_allocators(options)
    record = Record(options.suite, options.scale, options.rounds, describe_machine(), allocators,
                    experiments, Results(list(allocators)))
    try:
        record.write(options.json)  # so that a bad path is told now
    except OSError as error:
        sys.exit(f"{options.json}: {error.strerror}")
    run_all(record, Runner(options.programs), options.json)
    print_report(record)
    print(f"\nrecord: {options.json}")
    if options.html:
        here = os.path.dirname(os.path.abspath(__file__))
        drawn = subprocess.run([sys.executable, os.path.join(here, "page.py"), options.json,
                                "--html", options.html])
        if drawn.returncode == 0:
            print(f"page: {options.html}")
    return 1 if record.results.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs short programs under every allocator on a simulated core, and prints what they cost there.

The counts of one thread are the same in every run, on a busy machine as on an idle one. --against
sets their order beside that of the times in a record of bench.py. A run that fails is told, and the
exit status is 1."""
import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from agreement import print_agreement
from allocators import OWN, add_options, find_allocators, say
from record import read_record
from runs import chosen
from table import print_tables
from trace import TraceFailed, count_calls, simulate

# snmalloc ends the program unless it gets 256 GiB of addresses at once; under valgrind there are 128.
BEYOND_VALGRIND = {"snmalloc"}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--without", metavar="NAME", action="append", default=[],
                        help="leave out this allocator; may be repeated")
    parser.add_argument("--only", metavar="TEXT", action="append", default=[],
                        help="just the runs in whose name this occurs; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="write all counts there")
    parser.add_argument("--from", metavar="FILE", dest="earlier",
                        help="print what such a file holds, and run nothing")
    parser.add_argument("--against", metavar="RECORD",
                        help="a record of bench.py: how well the order of the allocators agrees")
    return parser.parse_args()


def run_all(options):
    """{run: {"calls", "counts": {allocator: {count: value}}}}, and whether all went well."""
    allocators = find_allocators(options)
    own_library = allocators[OWN].library  # counts the calls, also where it is left out
    for name in options.without:
        allocators.pop(name, None)
    for name in BEYOND_VALGRIND & set(allocators):
        say(f"{name}: reserves more addresses than valgrind has, skipped")
        del allocators[name]
    programs = os.path.abspath(os.path.join(options.build, "bench"))
    results, well = {}, True
    for run in chosen(options.only) or sys.exit("no run is named like that"):
        if missing := run.missing(programs, run.command):
            say(f"{run.name}: {missing} is not installed, skipped")
            continue
        counts = {}
        results[run.name] = {"calls": count_calls(run, own_library, programs),
                             "counts": counts}
        for name, allocator in allocators.items():
            begin = time.monotonic()
            try:
                counts[name] = simulate(run, allocator.library, programs)
            except TraceFailed as failure:
                say(f"FAILED {run.name} under {name}: {failure}")
                well = False
            say(f"{run.name} ({name}), {time.monotonic() - begin:.0f} s")
    return results, well


def main():
    options = parse_options()
    record = read_record(options.against) if options.against else None
    if options.earlier:
        with open(options.earlier) as file:
            results, well = json.load(file), True
    else:
        results, well = run_all(options)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    print_tables(results)
    if record:
        print_agreement(results, record)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())

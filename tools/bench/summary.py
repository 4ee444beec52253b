#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The record of a run, reduced to what the documents show: medians, means, losses, targets.

`summary.py RECORD.json FILE` writes FILE, from which tools/check/docs.py makes the tables of
README.md, docs/benchmarks.md and docs/benchmarks.html:

    {"machine", "suite", "rounds", "allocators": {name: {"file", "version"}},
     "rows": [{"workload", "name", "unit", "medians": {name: value}, "noisy": [name],
               "by_hand": {contender: value}, "best_peer": name, "main": whether in the quick suite}],
     "means": {workload: {name: time / glibc's}},
     "losses": [{"row", "other", "times", "beyond_noise"}], "targets": [...]}
"""
import argparse
import json
import sys

from catalogue import SUITES, experiments_of
from record import read_record
from results import NOISY, find_losses, group_means


def rounded(value):
    return None if value is None else float(f"{value:.4g}")


def summarise_row(record, experiment, row, main_rows):
    results = record.results
    names = list(record.allocators)
    return {
        "workload": experiment.workload, "name": row.name, "unit": row.unit,
        "medians": {name: rounded(results.median(experiment, row.figure, name)) for name in names},
        "noisy": [name for name in names
                  if results.spread(experiment, row.figure, name) > NOISY],
        "by_hand": {name: rounded(results.median(experiment, row.figure, name))
                    for name in experiment.contenders},
        "best_peer": results.best_peer(experiment, row.figure)[0], "main": row.name in main_rows}


def summarise(record):
    main_rows = {row.name for experiment in experiments_of("quick", SUITES["quick"].scale)
                 for row in experiment.rows}
    return {
        "machine": record.machine, "suite": record.suite, "rounds": record.rounds_done,
        "allocators": {name: {"file": allocator.file, "version": allocator.version}
                       for name, allocator in record.allocators.items()},
        "rows": [summarise_row(record, experiment, row, main_rows)
                 for experiment in record.experiments for row in experiment.rows],
        "means": {workload: {name: rounded(value) for name, value in means.items()}
                  for workload, means in group_means(record.results, record.experiments).items()},
        "losses": [{"row": loss.row.name, "other": loss.other, "times": rounded(loss.times),
                    "beyond_noise": loss.beyond_noise}
                   for loss in find_losses(record.results, record.experiments)],
        "targets": record.targets}


def as_text(summary):
    """JSON with a row, a loss and so on in each line, so that a change of one is a change of a line."""
    def block(value):
        if isinstance(value, list):
            return "[\n  " + ",\n  ".join(json.dumps(item) for item in value) + "]"
        if isinstance(value, dict):
            return "{\n  " + ",\n  ".join(f"{json.dumps(key)}: {json.dumps(item)}"
                                         for key, item in value.items()) + "}"
        return json.dumps(value)
    return "{\n " + ",\n ".join(f"{json.dumps(key)}: {block(value)}"
                               for key, value in summary.items()) + "}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", help="the JSON file of a run")
    parser.add_argument("summary", help="the file to write")
    options = parser.parse_args()
    try:
        record = read_record(options.record)
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    with open(options.summary, "w", encoding="utf-8") as output:
        output.write(as_text(summarise(record)))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Whether simulated cycles order the allocators as the clock does: rank correlations, row by row."""
import math

from table import columns_of


def median_times(record):
    """{row: {allocator: median}} of the rows in ms."""
    return {row.name: {name: median for name in record.allocators
                       if (median := record.results.median(experiment, row.figure, name))}
            for experiment in record.experiments for row in experiment.rows if row.unit == "ms"}


def kendall(first, second):
    """Tau-b: pairs in the same order less those in the opposite one; ties count for neither."""
    def sign(value):
        return (value > 0) - (value < 0)
    pairs = [(sign(first[i] - first[j]), sign(second[i] - second[j]))
             for i in range(len(first)) for j in range(i)]
    untied = math.sqrt(sum(abs(a) for a, _ in pairs) * sum(abs(b) for _, b in pairs))
    return sum(a * b for a, b in pairs) / untied if untied else None


def ranks(values):
    """From 0; equal values share the mean of their ranks."""
    return [sum(other < value for other in values)
            + (sum(other == value for other in values) - 1) / 2 for value in values]


def spearman(first, second):
    """Pearson's correlation of the ranks."""
    a, b = ranks(first), ranks(second)
    middle = (len(a) - 1) / 2
    spread = math.sqrt(sum((x - middle) ** 2 for x in a) * sum((y - middle) ** 2 for y in b))
    return sum((x - middle) * (y - middle) for x, y in zip(a, b)) / spread if spread else None


def print_agreement(results, record):
    times = median_times(record)
    print(f"\n{'agreement with the clock':40}{'allocators':>11}{'Kendall':>9}{'Spearman':>10}")
    for run, result in results.items():
        names = [name for name in columns_of(results)
                 if name in result["counts"] and name in times.get(run, {})]
        if len(names) < 3:
            continue
        cycles = [result["counts"][name]["cycles"] for name in names]
        clock = [times[run][name] for name in names]
        print(f"{run:40}{len(names):>11}" + "".join(
            f"{'-' if value is None else format(value, '.2f'):>{width}}"
            for value, width in ((kendall(cycles, clock), 9), (spearman(cycles, clock), 10))))

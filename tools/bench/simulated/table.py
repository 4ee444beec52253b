# SPDX-License-Identifier: MIT
"""The tables of simulated runs: a row a program, a column an allocator, a block a figure."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from allocators import GLIBC
from results import geometric_mean

# Count -> what it is called. Those of walks that missed the first cache come from below it.
FIGURES = {
    "cycles": "estimated cycles",
    "instructions": "instructions",
    "tlb1_misses": "first-level TLB misses",
    "tlb2_misses": "second-level TLB misses",
    "walk_references": "page-table references",
    "walk_l1_misses": "page-table references that missed L1",
    "l1_misses": "L1 misses",
    "l2_misses": "L2 misses",
    "llc_misses": "LLC misses",
    "page_faults": "page faults",
}


def columns_of(results):
    """The allocators, in the order of the first run that has them."""
    return list(dict.fromkeys(name for result in results.values() for name in result["counts"]))


def per_thousand_calls(result, name, figure):
    """None when the run failed."""
    counts = result["counts"].get(name)
    return counts[figure] * 1000 / result["calls"] if counts else None


def mean_of(results, name, figure):
    """Of the figure divided by glibc's, over runs in which both have some of it."""
    pairs = [(per_thousand_calls(result, name, figure), per_thousand_calls(result, GLIBC, figure))
             for result in results.values()]
    return geometric_mean([own / base for own, base in pairs if own and base])


def text(value, digits):
    return "-" if value is None else f"{value:,.{digits}f}"


def print_table(results, figure, title):
    names = columns_of(results)
    width = {name: max(12, len(name) + 1) for name in names}
    print(f"\n{title + ' / 1000 calls':40}" + "".join(f"{name:>{width[name]}}" for name in names))
    for run, result in results.items():
        values = {name: per_thousand_calls(result, name, figure) for name in names}
        print(f"{run:40}" + "".join(
            f"{text(values[name], 1 if (values[name] or 0) < 100 else 0):>{width[name]}}"
            for name in names))
    print(f"{'geometric mean / glibc':40}" + "".join(
        f"{text(mean_of(results, name, figure), 2):>{width[name]}}" for name in names))


def print_tables(results):
    for figure, title in FIGURES.items():
        print_table(results, figure, title)

# SPDX-License-Identifier: MIT
"""What was measured, and the table of it."""
import statistics
from dataclasses import dataclass, field

OWN = "pktmalloc"
GLIBC = "glibc"
REFERENCE = "reference"
SPREAD_LIMIT = 0.15

LEGEND = f"""\
Medians; less is better in every row. ~: (max - min) / median is over {SPREAD_LIMIT:.0%}.
A median is of --rounds runs; W1 has fewer, W2 and W5 twice as many, W4 memory and peak one.
vs glibc, vs peer: the value of glibc, of the best peer, divided by {OWN}'s: over 1 is a win.
reference: floor = a library of empty functions; by hand, under glibc: W1 = a pool (with a deleter,
  with allocate_shared, alone), W3 = a class-specific free list, W5 = a vector pool.
peak: RSS while all objects are held; light, idle, pairs: what is left 4 s after all were freed."""


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

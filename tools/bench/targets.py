# SPDX-License-Identifier: MIT
"""The figures that pktmalloc is to reach, and how far it is from each."""
from results import GLIBC, OWN, REFERENCE


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

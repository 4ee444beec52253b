# SPDX-License-Identifier: MIT
"""The figures that pktmalloc is to reach, and how far it is from each."""
from allocators import GLIBC, OWN, is_peer
from catalogue import HEADER, RESERVED
from results import group_means


class Targets:
    """Compares measured values with the targets; knows only rows that were run."""

    def __init__(self, record):
        self.results = record.results
        self.rows = {row.name: (experiment, row.figure)
                     for experiment in record.experiments for row in experiment.rows}
        self.charts = {row.name: row.chart
                       for experiment in record.experiments for row in experiment.rows}
        self.lines = []

    def names(self, start):
        return [name for name in self.rows if name.startswith(start)]

    def names_on(self, chart):
        return [name for name in self.rows if self.charts[name] == chart]

    def check(self, row, what, value, limit):
        self.lines.append({"target": f"{row}: {what}", "value": value, "bound": f"at most {limit:g}",
                           "reached": None if value is None else value <= limit})

    def median(self, row, name):
        return self.results.median(*self.rows[row], name)

    def times(self, row, other, limit, what):
        """Ours is at most `limit` times the other's."""
        if row not in self.rows:
            return
        own, base = self.median(row, OWN), self.median(row, other)
        value = own / base if own is not None and base else None
        self.check(row, what, value, limit)

    def contender_times(self, row, name, others, limit, what):
        """A contender's time is at most `limit` times the least of the others'."""
        if row not in self.rows or name not in self.rows[row][0].contenders:
            return
        value = self.median(row, name)
        bases = [base for base in (self.median(row, other) for other in others) if base]
        self.check(row, f"{name}, {what}", value / min(bases) if value and bases else None, limit)

    def pools(self, row):
        """The contenders that are written by hand."""
        return [name for name in self.rows[row][0].contenders
                if "pool" in name or name.startswith("class-specific")] if row in self.rows else []

    def times_peer(self, row, limit, what="times the best peer's"):
        if row in self.rows:
            peer, _ = self.results.best_peer(*self.rows[row])
            self.times(row, peer, limit, what)

    def times_better(self, row, others, limit):
        """Against the least of some peers."""
        best, _ = self.results.best_of(*self.rows[row], others)
        if best:
            self.times(row, best, limit, f"times the better of {' and '.join(others)}")

    def as_soon(self, row, later, limit):
        """With memory in advance, the first calls against later ones."""
        if row in self.rows and later in self.rows:
            first, rest = self.median(row, RESERVED), self.median(later, RESERVED)
            self.check(row, f"{RESERVED}, times {later}", first / rest if first and rest else None, limit)

    def mean_ahead(self, record, workload, limit):
        """Our geometric mean of a workload's times against the best peer's."""
        means = group_means(self.results, record.experiments).get(workload, {})
        peers = [value for name, value in means.items() if is_peer(name)]
        if workload in {experiment.workload for experiment in record.experiments}:
            value = means[OWN] / min(peers) if OWN in means and peers else None
            self.check(workload, "geometric mean of time, times the best peer's", value, limit)

    def at_most(self, row, limit, what):
        if row in self.rows:
            self.check(row, what, self.median(row, OWN), limit)

    def above_glibc(self, row, limit, what):
        if row in self.rows:
            own, glibc = self.median(row, OWN), self.median(row, GLIBC)
            value = own - glibc if own is not None and glibc is not None else None
            self.check(row, what, value, limit)


def check_targets(record):
    """One line a target: {"target", "bound", "value", "reached"}; reached is None if not measured."""
    targets = Targets(record)
    for row in targets.names("floor"):
        targets.times(row, "empty functions", 1.05, "times the empty functions")
        targets.contender_times(row, HEADER, ["empty functions"], 0.6, "times the empty functions")
    for row in ("W1 shared_ptr(new)", "W1 make_shared"):
        targets.times(row, "allocate_shared from a pool", 1, "times allocate_shared from a pool")
    targets.times("W1 new and delete", "pool alone", 3, "times the pool alone")
    for row in targets.names("W1"):
        targets.times_peer(row, 1)
        targets.contender_times(row, HEADER, targets.pools(row), 1, "times the pool")
    targets.as_soon("reserve, first round", "reserve, later rounds", 1.1)
    for row in targets.names("W2"):  # the whole time scatters with the scheduler: within the noise
        targets.times_peer(row, 1 if row.endswith("CPU time") else 1.1)
    targets.times("W3 rationals", "class-specific list", 2, "times the class-specific list")
    targets.times_peer("W3 rationals", 1)
    targets.contender_times("W3 rationals", HEADER, targets.pools("W3 rationals"), 1,
                            "times the fastest pool")
    for row in targets.names("W4"):
        if "thread" in row:  # who writes the objects pays the same for that under every allocator
            alike = row == "W4 1 thread" or row.startswith("W4 touched")
            targets.times_peer(row, 1 if alike else 0.5)
            targets.contender_times(row, HEADER, ["their pool"], 0.9, "times their pool")
    targets.at_most("W4 memory, held", 112, "MB")
    targets.at_most("W4 memory, 3 s later", 16, "MB")
    for row in targets.names("W5 unique_ptr") + targets.names("W5 make_shared"):
        targets.times(row, "the same with a pool", 1, "times the pool under glibc")
        targets.contender_times(row, HEADER, ["the same with a pool"], 1.1,
                                "times the pool under glibc")
    for row in targets.names("W5 unique_ptr"):
        targets.times(row, "empty functions", 1.25, "times empty functions")
    for row in targets.names("burst"):
        targets.contender_times(row, "with the batch", [OWN], 1 / 3, "times single calls")
        targets.contender_times(row, "with the batch", ["rte_mempool, bulk"], 1,
                                "times rte_mempool's bulk calls")
    for row in targets.names("W6"):
        if "peak RSS" in row:
            targets.times_better(row, ["jemalloc", "mimalloc"], 1.1)
        else:
            targets.times(row, GLIBC, 1, "times glibc's")
    for row in targets.names_on("Real programs"):
        targets.times_peer(row, 1.03)
    targets.mean_ahead(record, "W6", 0.95)
    for row in targets.names("W7"):
        # Of a cold start p99.9 is the 40th call.
        if row.endswith(("p99.9", "p99.99")) and "cold" not in row:
            targets.times_peer(row, 1)
    for row in targets.names("W7"):
        if "cold" in row and not row.endswith("max"):
            targets.as_soon(row, row.replace("cold ", ""), 1.1)
    targets.times("mixed sizes", GLIBC, 1, "times glibc's")
    targets.above_glibc("RSS at start", 1, "MiB above glibc")
    targets.above_glibc("RSS of 1000 threads", 20, "MiB above glibc")
    for row in targets.names("peak, "):
        if row != "peak, 2 threads":
            targets.at_most(row, 16, "MiB")
    targets.at_most("drifting sizes, peak / live", 1.3, "times what the program held")
    return targets.lines

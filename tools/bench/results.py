# SPDX-License-Identifier: MIT
"""What was measured, and what follows from it: medians, spreads, ratios, losses."""
import math
import statistics
from dataclasses import dataclass, field

from allocators import GLIBC, OWN, is_peer

NOISY = 0.15  # a spread above this is told beside the figure

# What is kept of every run besides the program's own figures (programs/measure.c).
PROCESS_FIGURES = {"user_ms": "ms", "system_ms": "ms", "process_peak_mib": "MiB",
                   "minor_faults": "", "rss_after_mib": "MiB"}


# In ms and ns: a latency may be 0, once the cost of measuring is subtracted.
LEAST = 0.01


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else None


@dataclass
class Results:
    """Samples by command and allocator (or contender); what failed by the same."""
    allocators: list  # names
    samples: dict = field(default_factory=dict)  # (command, name) -> [figures of a run]
    failed: dict = field(default_factory=dict)   # (command, name) -> why

    def add(self, experiment, name, figures):
        self.samples.setdefault((experiment.command, name), []).append(figures)

    def fail(self, experiment, name, why):
        self.failed[experiment.command, name] = why

    def values(self, experiment, figure, name):
        """Empty when it was not run, or failed at any time."""
        if (experiment.command, name) in self.failed:
            return []
        return [figures[figure] for figures in self.samples.get((experiment.command, name), [])
                if figure in figures]

    def median(self, experiment, figure, name):
        values = self.values(experiment, figure, name)
        return statistics.median(values) if values else None

    def spread(self, experiment, figure, name):
        """(max - min) / median."""
        values = self.values(experiment, figure, name)
        median = statistics.median(values) if values else 0
        return (max(values) - min(values)) / median if median else 0.0

    def best_of(self, experiment, figure, names):
        """Name and median of the one with the least; (None, None) if none was measured."""
        medians = [(median, name) for name in names
                   if (median := self.median(experiment, figure, name)) is not None]
        median, name = min(medians, default=(None, None))
        return name, median

    def best_peer(self, experiment, figure):
        return self.best_of(experiment, figure, filter(is_peer, self.allocators))

    def ratio(self, experiment, figure, name):
        """Another's median divided by ours: over 1 we use less. None when one is missing or 0."""
        own, other = (self.median(experiment, figure, each) for each in (OWN, name))
        return other / own if own and other else None

    def is_beyond_noise(self, experiment, figure, name):
        """Whether no sample of ours lies among those of the other, nor one of theirs among ours."""
        own, other = (self.values(experiment, figure, each) for each in (OWN, name))
        return min(own) > max(other) or max(own) < min(other)


@dataclass
class Loss:
    row: object
    other: str
    times: float  # ours divided by theirs
    beyond_noise: bool


def find_losses(results, experiments, threshold=1.01):
    """Rows in which glibc or the best peer is ahead of us, the worst first."""
    losses = []
    for experiment in experiments:
        for row in experiment.rows:
            peer, _ = results.best_peer(experiment, row.figure)
            for other in filter(None, [GLIBC, peer]):
                ratio = results.ratio(experiment, row.figure, other)
                if ratio and 1 / ratio > threshold:
                    losses.append(Loss(row, other, 1 / ratio,
                                       results.is_beyond_noise(experiment, row.figure, other)))
    return sorted(losses, key=lambda loss: -loss.times)


def group_means(results, experiments):
    """Workload -> {allocator: geometric mean of its times divided by glibc's}, rows in ms and ns."""
    means = {}
    for workload in dict.fromkeys(experiment.workload for experiment in experiments):
        timed = [(experiment, row.figure) for experiment in experiments
                 if experiment.workload == workload
                 for row in experiment.rows if row.unit in ("ms", "ns")]
        by_name = {}
        for name in results.allocators:
            pairs = [(results.median(*row, name), results.median(*row, GLIBC)) for row in timed]
            if pairs and all(None not in pair for pair in pairs):
                by_name[name] = geometric_mean([max(value, LEAST) / max(base, LEAST)
                                                for value, base in pairs])
        if by_name:
            means[workload] = by_name
    return means

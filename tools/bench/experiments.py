# SPDX-License-Identifier: MIT
"""Which programs are run with which arguments, and what each row of the table is called."""
from dataclasses import dataclass


@dataclass
class Row:
    name: str
    unit: str
    figure: str  # its name in the program's JSON


@dataclass
class Experiment:
    """One command; from its figures, one or more rows of the table."""
    command: str
    rows: list
    reference: str = ""  # the hand-written alternative: a command that runs under glibc
    rounds_factor: float = 1  # 0: one run, no warm-up


EMPTY = "libempty.so"  # as a reference: the same command, preloaded with the empty functions


def timed(command, name, reference="", rounds_factor=1.0):
    return Experiment(command, [Row(name, "ms", "ms")], reference, rounds_factor)


def floor(size):
    return Experiment(f"floor {size} 20000000", [Row(f"floor {size} B, pair", "ns", "ns_per_pair")],
                      EMPTY)


def w1(variant, name, by_hand):
    count = 300_000
    # A run has ten rounds of its own, and glibc's take long.
    return timed(f"w1_packets {variant} {count}", name, f"w1_packets {by_hand} {count}", 0.6)


def w2(producers):
    # Threads that wait for each other scatter; a run is short.
    name = f"W2 {producers} producer{'s' * (producers > 1)}"
    return timed(f"w2_queue {producers} {2_000_000 // producers}", name, rounds_factor=2)


def w4(threads, rounds):
    name = f"W4 {threads} thread{'s' * (threads > 1)}"
    return timed(f"w4_exchange {threads} {rounds}", name)


def w5(payload):
    return timed(f"w5_ring unique_ptr {payload}", f"W5 unique_ptr {payload} B",
                 f"w5_ring pool {payload}", 2)


def peak(threads, mode):
    name = f"peak, {threads} thread{'s' * (threads > 1)} {mode}"
    return Experiment(f"peak {threads} {mode}", [Row(name, "MiB", "later_mib")], rounds_factor=0)


EXPERIMENTS = [
    floor(64),
    floor(1500),
    w1("shared_ptr_new", "W1 shared_ptr(new)", "pool_deleter"),
    w1("make_shared", "W1 make_shared", "allocate_shared"),
    w1("new_delete", "W1 new and delete", "pool_only"),
    *[w2(producers) for producers in (1, 2, 8, 20)],
    timed("w3_rationals new_delete 5000", "W3 rationals", "w3_rationals free_list 5000"),
    w4(1, 50), w4(2, 50), w4(8, 12), w4(16, 6),
    *[w5(payload) for payload in (16, 64, 256)],
    timed("w5_ring make_shared 64", "W5 make_shared 64 B"),
    Experiment("mixed 4 20 50000", [Row("mixed sizes", "ms", "ms"),
                                    Row("mixed, page faults", "", "minor_faults")]),
    Experiment("startup", [Row("RSS at start", "MiB", "mib")]),
    Experiment("threads1000", [Row("RSS of 1000 threads", "MiB", "mib")]),
    Experiment("w4_memory 16", [Row("W4 memory, held", "MB", "peak_mb"),
                                Row("W4 memory, 3 s later", "MB", "later_mb")], rounds_factor=0),
    Experiment("peak 2 light", [Row("peak, 2 threads", "MiB", "peak_mib"),
                                Row("peak, 2 threads light", "MiB", "later_mib")],
               rounds_factor=0),
    peak(2, "idle"), peak(1, "light"), peak(2, "pairs"),
]

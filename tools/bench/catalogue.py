# SPDX-License-Identifier: MIT
"""Which programs are run with which arguments, and what each row of the tables is called.

To add a workload, add a function here that returns its experiments, and name it in WORKLOADS."""
from dataclasses import dataclass

from allocators import SECURE
from experiment import Contender, Experiment, Row, timed


@dataclass
class Suite:
    rounds: int
    scale: float  # of the published amounts of work, where that is not the same in all
    extent: int   # 0 the fewest rows, 2 all


SUITES = {"quick": Suite(4, 0.2, 0), "standard": Suite(3, 0.2, 1), "full": Suite(9, 1.0, 2)}


@dataclass
class Amounts:
    """How much of everything: counts are the published ones times the scale."""
    scale: float
    extent: int

    def scaled(self, count, least=1):
        return max(least, round(count * self.scale))

    def pick(self, *by_extent):
        """The choice of this extent; the last one stands for those that are not given."""
        return by_extent[min(self.extent, len(by_extent) - 1)]


HEADER = "with the header"
RESERVED = "reserved"


def with_header(command):
    """The program, compiled with pktmalloc.hpp."""
    return {HEADER: Contender(command, preload="../libpktmalloc.so")}


def plural(count, noun):
    return f"{count} {noun}{'s' * (count > 1)}"


def floor(amounts):
    """The same calls against functions that do nothing."""
    pairs = 20_000_000
    empty = {"empty functions": Contender("", preload="libempty.so")}
    return [Experiment("floor", f"floor {size} {pairs}",
                       [Row(f"floor {size} B, pair", "ns", "ns_per_pair", "A pair of calls")],
                       empty | with_header(f"floor --inlined {size} {pairs}"))
            for size in (64, 1500)]


def micro(amounts):
    """Single calls and short sequences of them, by Google Benchmark."""
    pairs = [(f"{what}/{size}", f"{text} {size} B", f"A pair of {text}", size)
             for what, text in (("malloc_free", "malloc, free"), ("new_delete", "new, delete"))
             for size in (16, 64, 256, 592, 1500, 4096)]
    others = [("calloc_free/64", "calloc, free 64 B"),
              ("realloc_growth/16/4096", "realloc from 16 to 4096 B"),
              ("batch_of_64/64", "batch of 64, 64 B"), ("batch_of_64/1500", "batch of 64, 1500 B")]
    rows = [Row(f"micro {name}", "ns", figure, chart, x) for figure, name, chart, x in pairs]
    rows += [Row(f"micro {name}", "ns", figure, "Short sequences") for figure, name in others]
    return [Experiment("micro", "micro --benchmark_filter=-w3 --benchmark_format=json", rows)] if amounts.extent else []


def reserved(objects):
    return {RESERVED: Contender("", "../libpktmalloc.so", {"PKTMALLOC_RESERVE": objects})}


def w1(amounts):
    """Packets behind shared_ptr. A run has ten rounds of its own, and glibc's take long."""
    count = amounts.pick(300_000, 1_000_000)
    pools = {"pool_deleter": "pool with a deleter", "allocate_shared": "allocate_shared from a pool",
             "pool_only": "pool alone"}
    rows = [("shared_ptr_new", "W1 shared_ptr(new)", ["pool_deleter", "allocate_shared"], None),
            ("make_shared", "W1 make_shared", ["allocate_shared"], "header_shared"),
            ("new_delete", "W1 new and delete", ["pool_only"], "header")]
    return [timed("W1", f"w1_packets {variant} {count}", name, "Packets behind shared_ptr",
                  contenders={pools[pool]: Contender(f"w1_packets {pool} {count}")
                              for pool in by_hand}
                  | (with_header(f"w1_packets {header} {count}") if header else {}), runs=0.5)
            for variant, name, by_hand, header in rows]


def reserve(amounts):
    """Memory that is there before it is needed, beside the same without."""
    if not amounts.extent:
        return []
    chart = "Packets, the first round and later ones"
    rows = [Row("reserve, first round", "ms", "first_ms", chart),
            Row("reserve, later rounds", "ms", "ms", chart),
            Row("reserve, page faults", "", "minor_faults", "Packets: page faults")]
    return [Experiment("reserve", "w1_packets new_delete 500000", rows,
                       contenders=reserved("1500:500000"))]


def w2(amounts):
    """Closures through a queue, packets through a ring. Threads that wait for each other scatter, so
    there are more runs."""
    numbers = amounts.pick((1, 2, 8, 20), (1, 2, 4, 8, 20), (1, 2, 4, 6, 8, 12, 16, 20))
    queues = amounts.pick(["mutex"], ["mutex", "boost", "moodycamel"])

    def two_rows(command, queue, chart, number, cpu_figure, runs):
        name = f"W2 {queue}, {plural(number, 'producer')}"
        rows = [Row(name, chart=chart, x=number),
                Row(f"{name}, CPU time", "ns", cpu_figure, f"{chart}: CPU time", number)]
        return Experiment("W2", command, rows[:amounts.pick(1, 2)], runs=runs)
    closures = [two_rows(f"w2_queue --queue {queue} {number} "
                         f"{max(amounts.scaled(1_000_000), 2_000_000 // number)}",
                         queue, f"Closures, {queue} queue", number, "cpu_ns_per_closure",
                         2 if queue == "mutex" else 1)
                for queue in queues for number in numbers]
    packets = [two_rows(f"w2_pipeline {number}", "pipeline", "Packets, in bursts", number,
                        "cpu_ns_per_packet", 1) for number in amounts.pick((), (1, 4))]
    return closures + packets


def w3(amounts):
    rounds = amounts.scaled(10_000, 5_000)
    pools = {"class-specific list": "free_list", "template pool": "template_pool",
             "pool without templates": "plain_pool", "pool of variable sizes": "variable_pool",
             "pool that locks": "locking_pool", "pool of a constant size": "constant_pool"}
    shown = list(pools)[:amounts.pick(1, 6)]
    return [timed("W3", f"w3_rationals new_delete {rounds}", "W3 rationals", "Small rationals",
                  contenders={name: Contender(f"w3_rationals {pools[name]} {rounds}")
                              for name in shown} | with_header(f"w3_rationals header {rounds}"))]


def w4(amounts):
    """The object pool of a messaging back end. Every thread has 50 rounds, or the threads share them
    where the scale is small."""
    pools = {"their pool": "w4_exchange --pool hand_written",
             "brpc stand-in": "w4_exchange --pool brpc_stand_in",
             "boost::fast_pool_allocator": "w4_exchange --pool boost_fast_pool",
             "pmr synchronized pool": "w4_exchange --pool pmr",
             "rte_mempool": "{programs}/others/w4_mempool",
             "Go sync.Pool": "{programs}/others/w4_sync_pool",
             "Netty Recycler": "java -jar {programs}/others/recycler.jar"}
    shown = list(pools)[:amounts.pick(1, len(pools))]
    experiments = []
    for threads in amounts.pick((1, 2, 8, 16), (1, 2, 4, 8, 16)):
        few = amounts.extent == 1 and threads in (4, 16)  # the others take their time
        work = f"{threads} {amounts.scaled(50, 50 // threads)}"
        experiments.append(timed("W4", f"w4_exchange {work}", f"W4 {plural(threads, 'thread')}",
                                 "Exchange of 64-byte objects", threads,
                                 contenders={name: Contender(f"{pools[name]} {work}")
                                             for name in (shown[:2] if few else shown)}
                                 | with_header(f"w4_exchange --pool header {work}")))
    for threads in amounts.pick((), (1, 2, 8)):
        work = f"{threads} {amounts.scaled(50, 50 // threads)}"
        experiments.append(timed(
            "W4", f"w4_exchange --touch {work}", f"W4 touched, {plural(threads, 'thread')}",
            "Exchange of 64-byte objects, all written", threads, contenders={
                "their pool": Contender(f"w4_exchange --touch --pool hand_written {work}")}))
    chart = "Memory of 16 threads x 100,000 x 64 B"
    experiments.append(Experiment("W4", "w4_memory 16", [
        Row("W4 memory, held", "MB", "peak_mb", chart),
        Row("W4 memory, 3 s later", "MB", "later_mb", chart)], runs=0))
    if amounts.extent:
        chart = "One thread, by function"
        experiments.append(Experiment("W4", "w4_tests", [
            Row("W4 one malloc", "ns", "malloc_ns", chart),
            Row("W4 one free", "ns", "free_ns", chart),
            Row("W4 memory, second time", "MiB", "growth_mib", "Growth when held a second time")]))
    return experiments


def w5(amounts):
    steps = amounts.pick(1_000_000, 1_000_000, amounts.scaled(40_000_000))
    kinds = [("unique_ptr", "pool")]
    if amounts.extent > 0:
        kinds += [("make_shared", "shared_pool"), ("shared_ptr_new", "shared_pool")]

    def contenders(kind, pool, payload):
        work = f"{payload} {steps}"
        found = {"the same with a pool": Contender(f"w5_ring {pool} {work}"),
                 "by value": Contender(f"w5_ring value {work}")}
        if header := {"unique_ptr": "header", "make_shared": "header_shared"}.get(kind):
            found |= with_header(f"w5_ring {header} {work}")
        if kind == "unique_ptr":
            found["empty functions"] = Contender(f"w5_ring calls {work}", preload="libempty.so")
        return found
    return [timed("W5", f"w5_ring {kind} {payload} {steps}", f"W5 {kind} {payload} B",
                  f"A ring of {kind}", payload, contenders=contenders(kind, pool, payload))
            for kind, pool in kinds for payload in (16, 64, 256)]


def program(command, name, chart="Real programs", peak="process_peak_mib", time=("ms", "ms"), **more):
    """A whole program: its time, of a unit and a figure, and its peak RSS."""
    return Experiment("W6", command, [
        Row(f"W6 {name}", *time, chart),
        Row(f"W6 {name}, peak RSS", "MiB", peak, f"{chart}: peak RSS")], **more)


def burst(amounts):
    """What packet programs take and return at once."""
    if not amounts.extent:
        return []
    objects = 10_000_000
    return [Experiment("burst", f"burst calls {size} {many} {objects}",
                       [Row(f"burst of {many}, {size} B", "ns", "ns_per_object",
                            "Bursts: an object, taken and returned", many)],
                       {"with the batch": Contender(f"burst batch {size} {many} {objects}",
                                                    preload="../libpktmalloc.so"),
                        "rte_mempool, bulk": Contender(
                            f"{{programs}}/others/burst_mempool {size} {many} {objects}")}
                       | with_header(f"burst header {size} {many} {objects}"))
            for size in (64, 1500) for many in (8, 32, 128)]


def w6(amounts):
    """Programs of the field's suites, our own versions; then real ones."""
    own = {"larson, 1 thread": "w6_larson 1", "larson, 2 threads": "w6_larson 2",
           "larson, 4 threads": "w6_larson 4", "xmalloc-test, 2+2 threads": "w6_xmalloc 2 2",
           "cache-scratch, 2 threads": "w6_scratch scratch 2",
           "cache-thrash, 2 threads": "w6_scratch thrash 2", "mstress, 4 threads": "w6_mstress 4",
           "rptest, 4 threads": "w6_rptest 4 200", "alloc-test": "w6_alloctest 1",
           "alloc-test, 2 threads": "w6_alloctest 2 500000 2000000",
           "sizes to 4 KiB": "w6_sizes 1 4096", "sizes to 4 KiB, 2 threads": "w6_sizes 2 4096",
           "sizes to 32 KiB": "w6_sizes 1 32768", "sizes to 32 KiB, 2 threads": "w6_sizes 2 32768",
           "few pages a size": "w6_pages", "cfrac": "w6_cfrac", "espresso": "w6_espresso"}
    if amounts.extent > 1:
        own |= {"xmalloc-test, 1+1 threads": "w6_xmalloc 1 1",
                "cache-scratch": "w6_scratch scratch 1", "rptest, 2 threads": "w6_rptest 2"}
    suite = [program(command, name, "Programs of the suites") for name, command in own.items()]
    # The field's own arguments: 5,000 objects of 8 to 1,000 bytes a thread, for a fixed time.
    suite += [program(f"w6_larson --ms 300 {threads} 5000",
                      f"larson for 0.3 s, {plural(threads, 'thread')}", "Larson for a fixed time",
                      time=("ns", "ns_per_replacement")) for threads in (1, 2)]
    real = [program("sqlite3 -batch :memory:", "sqlite3", stdin="orders.sql"),
            program("/usr/bin/python3 {real}/inventory.py", "python3",
                    environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
            program("ruby --disable-gems {real}/trees.rb", "ruby"),
            program("lua5.4 {real}/trees.lua", "lua"),
            program("lua5.4 {real}/sessions.lua", "lua, sessions"),
            program("perl {real}/words.pl", "perl", environment={"PERL_HASH_SEED": "0"}),
            program("perl {real}/orders.pl", "perl, orders", environment={"PERL_HASH_SEED": "0"}),
            program("gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=png16m -r100 "
                    "-sOutputFile=/dev/null {real}/pages.ps", "ghostscript"),
            program("g++ -std=c++20 -O1 -S {real}/templates.cpp -o -", "g++")]
    for experiment in real:
        experiment.same_output = True
    redis = program("/usr/bin/python3 {real}/redis.py", "redis-server", peak="peak_mib")
    redis.own_preload, redis.needs = True, ["redis-server", "redis-cli", "redis-benchmark"]
    return suite + real + [redis] if amounts.extent else []


def w7(amounts):
    """Every malloc and free of a packet path timed. 200,000/s is what every allocator can hold."""
    if not amounts.extent:
        return []
    modes = {"flat": "flat out", "200000 200000": "at 200,000/s"}
    if amounts.extent > 1:
        modes |= {"flat 400000 reserve": "flat out, reserve",
                  "200000 200000 reserve": "at 200,000/s, reserve"}
    percentiles = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9, "p99.99": 99.99, "max": 100}
    cold = ["p50", "p99", "p99.9", "max"]

    def rows(mode, call):
        chart = f"{mode.capitalize()}: {call}"
        def figure(name, start):
            return f"{call}_{start}{name.replace('.', '_')}_ns"
        return ([Row(f"W7 {mode}, {call} {name}", "ns", figure(name, ""), chart, x)
                 for name, x in percentiles.items()]
                + [Row(f"W7 {mode}, cold {call} {name}", "ns", figure(name, "cold_"),
                       f"{chart}, cold start", percentiles[name]) for name in cold])
    return [Experiment("W7", f"w7_tail {arguments}", rows(mode, "malloc") + rows(mode, "free"),
                       contenders=reserved("64:100000,1500:100000"))
            for arguments, mode in modes.items()]


def checks(amounts):
    """What it costs to look for heap errors, beside peers that do (`make peers` builds them). The
    commands differ from those above in their amounts, because samples belong to commands."""
    if not amounts.extent:
        return []
    ways = {"sampled guard": Contender("", "../libpktmalloc.so", {"PKTMALLOC_SAMPLE_GUARD": "5000"}),
            "hardened": Contender("", "../libpktmalloc-hardened.so"),
            "hardened, canaries": Contender("", "../libpktmalloc-hardened.so",
                                            {"PKTMALLOC_CANARY": "1"}),
            "checked": Contender("", "../libpktmalloc-checked.so")}
    ways |= {name: Contender("", f"../peers/lib{name}.so") for name in SECURE}
    commands = {"W1 make_shared": "w1_packets make_shared 200000",
                "W3": "w3_rationals new_delete 4000", "W4 2 threads": "w4_exchange 2 9",
                "W4 touched, 2 threads": "w4_exchange --touch 2 9",
                "W5 64 B": "w5_ring unique_ptr 64 900000",
                "larson": "w6_larson 2 1000 8 1000 9000000",
                "sizes to 4 KiB": "w6_sizes 1 4000"}
    return [timed("checks", command, f"checks, {name}", "Looking for heap errors",
                  contenders=dict(ways)) for name, command in commands.items()]


def mixed(amounts):
    return [Experiment("mixed", "mixed 4 20 50000", [
        Row("mixed sizes", chart="Sizes to 200 KiB"),
        Row("mixed sizes, page faults", "", "minor_faults", "Sizes to 200 KiB: page faults")])]


def memory(amounts):
    """What is left after a peak, which waits for seconds; what freed memory is used again."""
    experiments = [
        Experiment("memory", "startup", [Row("RSS at start", "MiB", "mib", "RSS at start")]),
        Experiment("memory", "threads1000", [
            Row("RSS of 1000 threads", "MiB", "mib", "RSS of 1000 threads")]),
        Experiment("memory", "peak 2 light", [
            Row("peak, 2 threads", "MiB", "peak_mib", "After a peak"),
            Row("peak, 2 threads light", "MiB", "later_mib", "After a peak")], runs=0)]
    for threads, mode in (2, "idle"), (1, "light"), (2, "pairs"):
        experiments.append(Experiment("memory", f"peak {threads} {mode}", [
            Row(f"peak, {plural(threads, 'thread')} {mode}", "MiB", "later_mib", "After a peak")],
                                      runs=0))
    if amounts.extent:
        experiments.append(Experiment("memory", "drift", [
            Row("drifting sizes, peak RSS", "MiB", "peak_mib", "Drifting sizes"),
            Row("drifting sizes, peak / live", "x", "peak_per_live",
                "Drifting sizes: peak / live")]))
    for what, name in (("turns", "ten sizes in turn"), ("two", "two sizes in turn"),
                       ("survivors", "ten sizes, a tenth survives"), ("zeroed", "zeroed, one byte used")):
        experiments.append(Experiment("memory", f"passing {what}", [
            Row(f"{name}, CPU", "ms", "cpu_ms", "Memory that passes on: time"),
            Row(f"{name}, peak RSS", "MiB", "peak_mib", "Memory that passes on: peak RSS")]))
    for period in "flat", "10", "100":
        every = "flat out" if period == "flat" else f"every {period} ms"
        experiments.append(Experiment("memory", f"after {period}", [
            Row(f"after a peak, {every}, longest call", "us", "call_us", "After a peak: longest call"),
            Row(f"after a peak, {every}, longest round", "us", "round_us", "After a peak: longest round"),
            Row(f"after a peak, {every}, a tenth is left", "s", "back_s", "After a peak: time to go back")],
                                      runs=0))
    experiments.append(Experiment("memory", "passing few", [
        Row("a sixteenth of 200 MiB survives, after 5 s", "MiB", "rss_after_mib", "After a peak")],
                                  runs=0))
    return experiments


WORKLOADS = [floor, micro, w1, reserve, w2, w3, w4, w5, burst, w6, w7, checks, mixed, memory]


def experiments_of(suite, scale):
    amounts = Amounts(scale, SUITES[suite].extent)
    return [experiment for workload in WORKLOADS for experiment in workload(amounts)]

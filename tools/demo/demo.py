#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs three unmodified programs without and with the library, and shows what it changes.

Two of the programs are from the system (python3; sqlite3 or else perl), one is the packet workload
of the benchmarks. Each runs three times without and three times with LD_PRELOAD=LIBRARY, in turns;
the table shows median time and median peak RSS. Output and exit status have to be the same both
ways, or the exit status is 1. Last come the statistics that the library keeps about the packets.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

RUNS = 3

# Without PYTHONMALLOC=malloc, python3 serves small objects from a pool of its own.
FIXED_ENVIRONMENT = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0"}

PYTHON_SCRIPT = """
import json
for turn in range(6):
    flows = {f"flow {i}": {"packets": i % 97, "hops": [str(i + n) for n in range(8)]}
             for i in range(40000)}
    text = json.dumps(flows)
    again = json.loads(text)
print(len(text), sum(flow["packets"] for flow in again.values()))
"""

SQL_SCRIPT = """
CREATE TABLE packet (id INTEGER PRIMARY KEY, flow TEXT, bytes INTEGER);
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 600000)
  INSERT INTO packet SELECT n, 'flow ' || (n * 7919 % 10007), n * 31 % 1500 FROM number;
CREATE INDEX packet_flow ON packet (flow, bytes);
SELECT flow, count(*), sum(bytes), length(group_concat(bytes)) FROM packet
  GROUP BY flow ORDER BY sum(bytes) DESC, flow LIMIT 3;
"""

PERL_SCRIPT = """
my %flows;
push @{$flows{"flow " . ($_ * 7919 % 10007)}}, "packet $_" for 1 .. 600_000;
my @sorted = sort { @{$flows{$b}} <=> @{$flows{$a}} || $a cmp $b } keys %flows;
print join(" ", $sorted[0], scalar @sorted, length join(",", map { @$_ } values %flows)), "\\n";
"""


@dataclass
class Run:
    seconds: float
    peak_mib: float
    status: int
    stdout: str
    stderr: str

    def behaviour(self):
        """What has to be the same both ways; the times and memory that w1_packets prints are not."""
        return self.status, re.sub(r'"(\w*ms|rss_after_mib)": [0-9.]+', r'"\1": *', self.stdout)

    def failure(self):
        """Why the run does not count, or "" when it does."""
        if self.status != 0 or "cannot be preloaded" in self.stderr:
            return f"exit status {self.status}: {self.stderr.strip()[:400]}"
        return ""


def run_program(command, library, options=None):
    environment = {**os.environ, **FIXED_ENVIRONMENT, **(options or {})}
    environment.pop("LD_PRELOAD", None)
    if library:
        environment["LD_PRELOAD"] = library
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        begin = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        stderr.seek(0)
        return Run(seconds, usage.ru_maxrss / 1024, process.returncode, stdout.read(),
                   stderr.read())


def compare(name, command, library):
    """Prints the program's line of the table; returns whether it behaved the same both ways."""
    without, preloaded = [], []
    for _ in range(RUNS):
        without.append(run_program(command, None))
        preloaded.append(run_program(command, library))
    behaviours = {run.behaviour() for run in without + preloaded}
    failures = {run.failure() for run in without + preloaded} - {""}
    same = len(behaviours) == 1 and not failures

    seconds = [statistics.median(run.seconds for run in runs) for runs in (without, preloaded)]
    peaks = [statistics.median(run.peak_mib for run in runs) for runs in (without, preloaded)]
    print(f"{name:25}{seconds[0]:8.2f}{seconds[1]:8.2f}{seconds[0] / seconds[1]:7.1f} x"
          f"{peaks[0]:11.0f}{peaks[1]:8.0f}{peaks[1] / peaks[0]:8.2f}   "
          f"{'the same' if same else 'DIFFERENT'}", flush=True)
    if not same:
        for failure in sorted(failures):
            print(f"  {failure}")
        for status, stdout in sorted(behaviours):
            print(f"  exit status {status}, output: {stdout.strip()[:200]}")
    return same


def database():
    if shutil.which("sqlite3"):
        return ("sqlite3, table in memory",
                ["sqlite3", "-init", "/dev/null", "-batch", ":memory:", SQL_SCRIPT])
    return "perl, hash of arrays", ["perl", "-e", PERL_SCRIPT]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", metavar="LIBRARY", help="libpktmalloc.so")
    parser.add_argument("--programs", metavar="FOLDER",
                        help="the benchmark programs (default: bench, beside the library)")
    options = parser.parse_args()
    library = os.path.abspath(options.library)
    programs = options.programs or os.path.join(os.path.dirname(library), "bench")
    packets = [os.path.join(programs, "w1_packets"), "make_shared", "300000"]
    for path in (library, packets[0]):
        if not os.path.exists(path):
            sys.exit(f"{path} is missing; `make all bench-programs` builds it")

    print(f"Three unmodified programs, without and with LD_PRELOAD={os.path.basename(library)}.\n"
          "python3 runs with PYTHONMALLOC=malloc both ways, else it has a pool of its own.\n"
          f"Medians of {RUNS} runs. Peak memory is the most that was in RAM (RSS).\n")
    print(f"{'':25}{'time in s':^25}{'peak memory in MiB':^28}  output and")
    print(f"{'program':25}{'without':>8}{'with':>8}{'faster':>9}{'without':>11}{'with':>8}"
          f"{'ratio':>8}   exit status", flush=True)
    same = [compare("python3, dicts and JSON", [sys.executable, "-c", PYTHON_SCRIPT], library),
            compare(*database(), library),
            compare("w1_packets, make_shared", packets, library)]

    run = run_program(packets, library, {"PKTMALLOC_STATS": "1"})
    print("\nWith PKTMALLOC_STATS=1 the library reports at exit what it did. For w1_packets:\n")
    print(run.stderr.strip("\n") or "(nothing was written to stderr)")
    return 0 if all(same) and not run.failure() else 1


if __name__ == "__main__":
    sys.exit(main())

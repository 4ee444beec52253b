#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""benchmark.py FOLDER: builds the benchmark once for each allocator's crate into FOLDER, plays them in turn, and
prints a table of medians: processor time in ms, and the most memory in MiB."""
import collections
import pathlib
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ALLOCATORS = "system", "pktmalloc", "mimalloc", "jemalloc", "snmalloc", "rpmalloc"
PLAYS, ROUNDS = 9, 3


def build(folder, allocator):
    target = folder / "target"
    features = [] if allocator == "system" else ["--features", allocator]
    built = subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", HERE / "benchmark/Cargo.toml",
                            "--target-dir", target, *features], check=False, stderr=subprocess.PIPE, text=True)
    if built.returncode != 0:
        print(f"benchmark.py: {allocator} is left out: {built.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return shutil.copy(target / "release/benchmark", folder / allocator)


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    programs = {name: program for name in ALLOCATORS if (program := build(folder, name))}
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for _ in range(PLAYS):
        for name, program in programs.items():
            text = subprocess.run([program, str(ROUNDS)], check=True, capture_output=True, text=True).stdout
            for line in text.splitlines():
                workload, *values = line.split()
                found[workload][name] += map(float, values)
    print("| | " + " | ".join(programs) + " |\n| --- |" + " --: |" * len(programs))
    for workload, times in found.items():
        medians = {name: statistics.median(values) for name, values in times.items()}
        best = min(medians.values())
        cells = [f"**{value:.0f}**" if value == best else f"{value:.0f}" for value in medians.values()]
        print(f"| {workload} | " + " | ".join(cells) + " |")


main(sys.argv[1])

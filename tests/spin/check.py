#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs spin over tests/spin/stack.pml within several bounds, in a folder for what it generates.

A line for each: how many states there were, and whether the claim held. Where the tag is too short
for the bound the claim must be refuted, or the model would prove nothing. Exit status 1 otherwise.
"""
import argparse
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

MODEL = pathlib.Path(__file__).resolve().parent / "stack.pml"


@dataclass
class Bound:
    threads: int
    operations: int  # of each thread
    tag_bits: int
    freezes: int
    holds: bool
    magazines: int = 3

    def __str__(self):
        return (f"{self.threads} threads of {self.operations} operations"
                f"{', a freeze' if self.freezes else ''}, {self.tag_bits} bits of tag")


# The other threads together can make fewer changes than the tag can count, but for the last two.
BOUNDS = [
    Bound(2, 3, 2, 1, True),
    Bound(2, 5, 3, 1, True),
    Bound(3, 2, 3, 1, True),
    Bound(3, 3, 3, 0, True),
    Bound(2, 3, 0, 0, False),
    Bound(3, 3, 2, 0, False),
]
# Forty seconds and 2 GiB each.
DEEP = [Bound(3, 3, 3, 1, True), Bound(3, 4, 4, 0, True)]


def run(command, folder, accepted=(0,)):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode not in accepted:
        sys.exit(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def check(bound, folder):
    """Whether spin says what is expected of the bound."""
    run(["spin", "-a", f"-DTHREADS={bound.threads}", f"-DOPERATIONS={bound.operations}",
         f"-DTAG_BITS={bound.tag_bits}", f"-DFREEZES={bound.freezes}",
         f"-DMAGAZINES={bound.magazines}", MODEL], folder)
    run(["gcc", "-w", "-O2", "-DSAFETY", "-DNOFAIR", "-DCOLLAPSE", "pan.c", "-o", "pan"], folder)
    told = run(["./pan", "-m100000", "-w26"], folder)
    states, errors = (re.search(pattern, told) for pattern in
                      (r"(\d+) states, stored", r"errors: (\d+)"))
    if not states or not errors or "max search depth too small" in told:
        sys.exit(f"{bound}: the search was not finished: {told[-600:]}")
    held = int(errors[1]) == 0
    broken = re.search(r"pan:\d+: (.*) \(at depth", told)
    print(f"{bound}: {int(states[1]):,} states, "
          f"{'no magazine lost or in two hands' if held else broken[1] if broken else told}"
          f"{'' if held == bound.holds else ' (EXPECTED OTHERWISE)'}", flush=True)
    return held == bound.holds


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="for what spin generates")
    parser.add_argument("--deep", action="store_true", help="larger bounds besides")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    answers = [check(bound, options.folder) for bound in BOUNDS + (DEEP if options.deep else [])]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())

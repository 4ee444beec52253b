#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs spin over the models beside it, in a folder for what it generates.

A line for each case: how many states there were, and whether the claim held. Where the tag is too
short for the bound, or a fence or a second look is missing, the claim must be refuted, or the model
would prove nothing. Exit status 1 otherwise.
"""
import argparse
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent


@dataclass
class Case:
    model: str
    defines: dict
    holds: bool
    title: str
    claim: str


def stack(threads, operations, tag_bits, freezes, holds, magazines=3):
    """`operations` of each thread."""
    return Case("stack.pml",
                {"THREADS": threads, "OPERATIONS": operations, "TAG_BITS": tag_bits,
                 "FREEZES": freezes, "MAGAZINES": magazines}, holds,
                f"{threads} threads of {operations} operations"
                f"{', a freeze' if freezes else ''}, {tag_bits} bits of tag",
                "no magazine lost or in two hands")


def mail(threads, operations, freezes, again, holds):
    return Case("mail.pml",
                {"THREADS": threads, "OPERATIONS": operations, "FREEZES": freezes, "AGAIN": int(again), "PLACES": 2},
                holds,
                f"{threads} threads of {operations} trades{', a freeze' if freezes else ''}"
                f"{'' if again else ', one look'}",
                "no magazine lost, unseen or in two hands")


def wake(fences, holds):
    return Case("wake.pml", {"FENCES": fences}, holds,
                f"a thread is woken, with{'' if fences else 'out'} fences", "no wake is lost")


# The other threads together can make fewer changes than the tag can count, but where it is refuted.
CASES = [
    stack(2, 3, 2, 1, True),
    stack(2, 5, 3, 1, True),
    stack(3, 2, 3, 1, True),
    stack(3, 3, 3, 0, True),
    stack(2, 3, 0, 0, False),
    stack(3, 3, 2, 0, False),
    mail(2, 4, 1, True, True),
    mail(3, 2, 0, True, True),
    mail(2, 4, 0, False, False),
    wake(1, True),
    wake(0, False),
]
# Forty seconds and 2 GiB each.
DEEP = [stack(3, 3, 3, 1, True), stack(3, 4, 4, 0, True), mail(3, 3, 0, True, True)]


def run(command, folder, accepted=(0,)):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode not in accepted:
        sys.exit(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def check(case, folder):
    """Whether spin says what is expected of the case."""
    run(["spin", "-a", *(f"-D{name}={value}" for name, value in case.defines.items()),
         FOLDER / case.model], folder)
    run(["gcc", "-w", "-O2", "-DSAFETY", "-DNOFAIR", "-DCOLLAPSE", "pan.c", "-o", "pan"], folder)
    told = run(["./pan", "-m100000", "-w23"], folder)
    states, errors = (re.search(pattern, told) for pattern in
                      (r"(\d+) states, stored", r"errors: (\d+)"))
    if not states or not errors or "max search depth too small" in told:
        sys.exit(f"{case.title}: the search was not finished: {told[-600:]}")
    held = int(errors[1]) == 0
    broken = re.search(r"pan:\d+: (.*) \(at depth", told)
    print(f"{case.title}: {int(states[1]):,} states, "
          f"{case.claim if held else broken[1] if broken else told}"
          f"{'' if held == case.holds else ' (EXPECTED OTHERWISE)'}", flush=True)
    return held == case.holds


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="for what spin generates")
    parser.add_argument("--deep", action="store_true", help="larger bounds besides")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    answers = [check(case, options.folder) for case in CASES + (DEEP if options.deep else [])]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs Catch2 executables and closes with one line, "N passed, N failed, N skipped".

Each executable given is run once, as many at a time as there are processors; its test cases are
counted from its JUnit report. A failed case is told with its assertions; an executable that dies or
reports nothing counts as one failure. What a case skipped or left out for want of something on this
machine (tests/skip.h) is told with its reason. --target NAME, before the executables and as often as
one likes, runs `make NAME` as one test more.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

UNTRIED = re.compile(r"^\s*(skipped|left out): (.*)", re.M)


def run(executable):
    """Returns passed, failed, skipped and lines that tell what failed and what was skipped."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [os.path.abspath(executable), "-r", "junit", "-o", report.name]
        if not os.access(executable, os.X_OK):
            return 0, 1, 0, [f"FAILED {executable}: was not built"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            cases = list(ElementTree.parse(report.name).iter("testcase"))
        except ElementTree.ParseError:
            cases = []
    passed, failed, skipped, lines = 0, 0, 0, []
    for case in cases:
        faults = [f for f in case if f.tag in ("failure", "error")]
        untried = UNTRIED.findall(case.findtext("system-out") or "")
        for how, why in untried:
            lines.append(f"{how} {executable}: {case.get('name')}: {why}")
        if faults:
            failed += 1
            lines.append(f"FAILED {executable}: {case.get('name')}")
            for fault in faults:
                lines.append(f"    {fault.get('message') or ''} {(fault.text or '').strip()}")
        elif "skipped" in dict(untried):
            skipped += 1
        else:
            passed += 1
    if not cases or (done.returncode != 0 and failed == 0):
        failed += 1
        lines += [f"FAILED {executable}: exit status {done.returncode}", done.stdout[-4000:]]
    return passed, failed, skipped, lines


def run_target(name):
    """As run(), for a target of make."""
    # Variables of the command line are handed on; a share in the calling make's jobs cannot be.
    flags = [flag for flag in os.environ.get("MAKEFLAGS", "").split() if not flag.startswith("-j")
             and not flag.startswith("--jobserver")]
    done = subprocess.run(["make", "--no-print-directory", name], stdin=subprocess.DEVNULL,
                          env={**os.environ, "MAKEFLAGS": " ".join(flags)}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode == 0:
        return 1, 0, 0, []
    return 0, 1, 0, [f"FAILED make {name}", done.stdout[-4000:]]


def timed(test):
    """Runs a title's function with its argument; adds what it took, in seconds."""
    _, how, what = test
    start = time.monotonic()
    return *how(what), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", default=[], dest="targets")
    parser.add_argument("executables", nargs="*")
    options = parser.parse_args()
    tests = [(f"make {name}", run_target, name) for name in options.targets]
    tests += [(executable, run, executable) for executable in options.executables]
    passed, failed, skipped = 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(timed, test): test[0] for test in tests}
        for done in concurrent.futures.as_completed(running):
            p, f, s, lines, seconds = done.result()
            passed, failed, skipped = passed + p, failed + f, skipped + s
            lines.append(f"{running[done]}: {p} passed, {f} failed, {s} skipped, {seconds:.1f} s")
            print("\n".join(lines), flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

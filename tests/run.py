#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs Catch2 executables and closes with one line, "N passed, N failed, N skipped".

A case that took more than a second when tests/times.txt was written is a job of its own; the other cases
of its executable are one job together. The longest jobs start first, two at a time for each processor, because
half of their time they wait. Cases are counted from JUnit reports. A failed case is told with
its assertions; an executable that dies or reports nothing counts as one failure. What a case skipped or
left out for want of something on this machine (tests/skip.h) is told with its reason. --target NAME, as
often as one likes, runs `make NAME` as one test more. Of the executables behind --long those cases run
that are tagged [.long], of the others all the rest. --write-times writes tests/times.txt anew, but for
what did not run.
"""
import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import defaultdict

TIMES = pathlib.Path(__file__).with_name("times.txt")
LONG = 1.0  # seconds: a job of its own
UNTRIED = re.compile(r"^\s*(skipped|left out): (.*)", re.M)


class Job:
    """Cases of one executable, or a target of make."""

    def __init__(self, title, command, cases=()):
        self.title, self.command, self.cases = title, command, list(cases)
        self.passed, self.failed, self.skipped, self.lines = 0, 0, 0, []
        self.seconds, self.of_processor = 0.0, 0.0
        self.times = {}  # case -> seconds

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            names, report = os.path.join(folder, "names"), os.path.join(folder, "report.xml")
            command, start = self.command, time.monotonic()
            if self.cases:
                pathlib.Path(names).write_text("".join(f"{escaped(case)}\n" for case in self.cases), encoding="utf-8")
                command = command + ["-f", names, "-r", "junit", "-o", report]
            with tempfile.TemporaryFile() as output:
                child = subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL, stdout=output,
                                         stderr=subprocess.STDOUT)
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
                output.seek(0)
                text = output.read().decode(errors="replace")
            self.seconds, self.of_processor = time.monotonic() - start, used.ru_utime + used.ru_stime
            if self.cases:
                self.count(report)
            elif child.returncode == 0:
                self.passed = 1
            if child.returncode != 0 and self.failed == 0 or self.passed + self.failed + self.skipped == 0:
                self.failed += 1
                self.lines += [f"FAILED {self.title}: exit status {child.returncode}", text[-4000:]]
        return self

    def count(self, report):
        try:
            cases = list(ElementTree.parse(report).iter("testcase"))
        except (ElementTree.ParseError, FileNotFoundError):
            cases = []
        for case in cases:
            name = f"{self.title}: {case.get('name')}"  # sections: CASE/SECTION
            whole = max((c for c in self.cases if f"{case.get('name')}/".startswith(f"{c}/")), key=len, default="")
            self.times[whole] = self.times.get(whole, 0) + float(case.get("time") or 0)
            untried = UNTRIED.findall(case.findtext("system-out") or "")
            self.lines += [f"{how} {name}: {why}" for how, why in untried]
            faults = [fault for fault in case if fault.tag in ("failure", "error")]
            if faults:
                self.failed += 1
                self.lines.append(f"FAILED {name}")
                self.lines += [f"    {f.get('message') or ''} {(f.text or '').strip()}" for f in faults]
            elif "skipped" in dict(untried):
                self.skipped += 1
            else:
                self.passed += 1
        for case in set(self.cases) - set(self.times) if cases else ():
            self.failed += 1
            self.lines.append(f"FAILED {self.title}: {case}: did not run, or checks nothing")


def escaped(case):
    """As Catch2's list of tests to run has it."""
    return re.sub(r"([\\,\[\]\"])", r"\\\1", case)


def environment():
    # Variables of make's command line are handed on; a share in the calling make's jobs cannot be.
    flags = [flag for flag in os.environ.get("MAKEFLAGS", "").split() if not flag.startswith(("-j", "--jobserver"))]
    return {**os.environ, "MAKEFLAGS": " ".join(flags)}


def read_times():
    """What each long case took, by its title."""
    if not TIMES.exists():
        return {}
    lines = (line.split(" ", 1) for line in TIMES.read_text(encoding="utf-8").splitlines() if line[0] != "#")
    return {title: float(seconds) for seconds, title in lines}


def write_times(jobs, times):
    times = times | {f"{job.title}: {case}": seconds for job in jobs for case, seconds in job.times.items()}
    lines = [f"{seconds:.1f} {title}" for title, seconds in sorted(times.items(), key=lambda item: -item[1])
             if seconds > LONG]
    TIMES.write_text("# Seconds that long cases took; run.py starts the longest first and writes this file.\n"
                     + "\n".join(lines) + "\n", encoding="utf-8")


def listed(command, tags):
    """Titles of the cases with these tags; none if the suite dies (its status is else their number)."""
    listing = subprocess.run(command + ["--list-test-names-only", *tags], stdout=subprocess.PIPE, text=True)
    return [case for case in listing.stdout.splitlines() if case] if listing.returncode >= 0 else []


def jobs_of(executable, times, tags=()):
    title = executable.removeprefix("build/").replace("tests/", "", 1)
    command = [os.path.abspath(executable)]
    if not os.access(executable, os.X_OK):
        return [Job(title, ["sh", "-c", "echo was not built; exit 1"])]
    cases = listed(command, tags)
    if not (cases or listed(command, ["[.long],~[.long]"])):
        return [Job(title, ["sh", "-c", "echo lists no cases; exit 1"])]
    alone = [case for case in cases if f"{title}: {case}" in times]
    rest = [case for case in cases if case not in alone]
    return [Job(title, command, [case]) for case in alone] + ([Job(title, command, rest)] if rest else [])


class Progress:
    """Says every ten seconds how far it is, and how long the rest takes at the pace so far."""

    def __init__(self, expected):
        self.expected, self.all = expected, sum(expected.values())
        self.start = self.told = time.monotonic()
        self.done = 0.0

    def finished(self, job):
        self.done += self.expected[job]
        now = time.monotonic()
        if now - self.told < 10 or not self.done:
            return
        self.told = now
        left = (now - self.start) * (self.all - self.done) / self.done
        print(f"  {100 * self.done / self.all:.0f} %, about {left:.0f} s to go", flush=True)


@contextlib.contextmanager
def where_libraries_can_be_preloaded():
    """LD_PRELOAD takes a path with a blank or a colon for several: then the tests run in a copy of all."""
    here = os.getcwd()
    if not re.search("[ :]", here):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="pktmalloc-") as folder:
        copy = os.path.join(folder, "copy")
        print(f"LD_PRELOAD cannot express {here}: the tests run in {copy}", flush=True)
        shutil.copytree(here, copy, symlinks=True)
        os.chdir(copy)
        try:
            yield
        finally:
            os.chdir(here)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", default=[], dest="targets")
    parser.add_argument("--long", nargs="*", default=[], metavar="executable")
    parser.add_argument("--write-times", action="store_true")
    parser.add_argument("executables", nargs="*")
    options = parser.parse_args()
    with where_libraries_can_be_preloaded():
        return run(options)


def run(options):
    times = read_times()
    jobs = [Job(f"make {name}", ["make", "--no-print-directory", name]) for name in options.targets]
    for executable in options.executables:
        jobs += jobs_of(executable, times)
    for executable in options.long:
        jobs += jobs_of(executable, times, ["[long]"])

    # A target takes a minute; a short case a hundredth of a second.
    expected = {job: sum(times.get(f"{job.title}: {case}", 0.01) for case in job.cases) or 60 for job in jobs}
    jobs.sort(key=lambda job: -expected[job])
    progress = Progress(expected)
    of_suite = defaultdict(float)
    with concurrent.futures.ThreadPoolExecutor(2 * len(os.sched_getaffinity(0))) as pool:
        for done in concurrent.futures.as_completed([pool.submit(job.run) for job in jobs]):
            job = done.result()
            of_suite[job.title] += job.seconds
            if job.lines:
                print("\n".join(job.lines), flush=True)
            progress.finished(job)
    if options.write_times:
        write_times(jobs, times)
    slowest = sorted(of_suite.items(), key=lambda item: -item[1])[:5]
    print("slowest: " + ", ".join(f"{title} {seconds:.0f} s" for title, seconds in slowest)
          + f"; all in {time.monotonic() - progress.start:.0f} s, of processors "
          f"{sum(job.of_processor for job in jobs):.0f} s")
    passed, failed, skipped = (sum(getattr(job, what) for job in jobs) for what in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

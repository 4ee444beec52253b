#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real programs with the library preloaded, in turn, for as long as is asked.

Each program (programs.py) runs once without the library and then with it, again and again: output
and exit status have to be the same every time. Servers (servers.py) live through the whole soak
under the library and are driven again and again: their answers have to be those of a server
without it, and their memory must not grow from turn to turn. A line for every run, a table at the
end. Options of the library in the environment, such as PKTMALLOC_SAMPLE_GUARD=1000, are handed on to
it; one that lets it print makes every run different. Exit status 1 when anything differed or grew, 2 when the soak could not start. Programs that
are not installed are named and skipped.
"""
import argparse
import difflib
import os
import shutil
import sys
import time
from dataclasses import dataclass, field

from programs import PROGRAMS
from run import run
from server import Failed
from servers import SERVERS

# A server may grow while its tables find their size; from the turn WARM on it has to stay within
# this share and these MiB of what it had then.
WARM, GROWTH_SHARE, GROWTH_MIB = 3, 1.10, 4


@dataclass
class Tally:
    """What is known of one program."""
    runs: int = 0
    seconds: float = 0
    without_mib: float = 0
    # MiB: the peak of a program's first command, each run; a server's own at rest, each turn.
    memory: list = field(default_factory=list)
    faults: list = field(default_factory=list)

    def note(self, seconds, fault):
        self.runs += 1
        self.seconds += seconds
        if fault:
            self.faults.append(fault)

    def growth(self):
        """Told only when there is some, and enough turns to tell."""
        rest = self.memory[WARM - 1:]
        if len(rest) < 3 or min(rest[-3:]) <= rest[0] * GROWTH_SHARE + GROWTH_MIB:
            return ""
        return f"grew from {rest[0]:.1f} to {rest[-1]:.1f} MiB"


def difference(expected, behaviour):
    if expected == behaviour:
        return ""
    told = [f"exit status {expected[0]} without, {behaviour[0]} with"] if \
        expected[0] != behaviour[0] else []
    for without, preloaded in zip(expected[1:], behaviour[1:]):
        told += [line for line in difflib.unified_diff(without.splitlines(), preloaded.splitlines(),
                                                       "without", "with", n=0, lineterm="")][:12]
    return "\n    ".join(told)


class Soak:
    def __init__(self, library, deadline):
        self.library, self.deadline = library, deadline
        self.tallies, self.skipped, self.servers, self.answers = {}, [], {}, {}

    def tally(self, name):
        return self.tallies.setdefault(name, Tally())

    def over(self):
        return time.monotonic() >= self.deadline

    def tell(self, name, seconds, mib, fault):
        self.tally(name).note(seconds, fault)
        print(f"{time.strftime('%H:%M:%S')}  {name:24}{seconds:8.1f} s{mib:9.1f} MiB   "
              f"{'DIFFERENT' if fault else 'the same'}", flush=True)
        if fault:
            print(f"    {fault}", flush=True)

    def run_program(self, program, turn):
        number = program.number(turn)
        if number not in program.expected:
            alone = run(program.commands[number], None)
            program.expected[number] = program.behaviour(alone)
            if number == 0:
                self.tally(program.name).without_mib = alone.peak_mib
            if alone.status != 0:
                print(f"{program.name}: exit status {alone.status} without the library", flush=True)
        done = run(program.commands[number], self.library)
        fault = difference(program.expected[number], program.behaviour(done))
        if number == 0:
            self.tally(program.name).memory.append(done.peak_mib)
        self.tell(program.name, done.seconds, done.peak_mib, fault)

    def drive(self, server):
        begin = time.monotonic()
        try:
            if server not in self.servers:
                alone = server(None)
                try:
                    self.answers[server], self.tally(server.name).without_mib = alone.turn()
                finally:
                    alone.stop()
                begin = time.monotonic()
                self.servers[server] = server(self.library)
            answered, mib = self.servers[server].turn()
            fault = difference((0, self.answers[server]), (0, answered))
        except Failed as failure:
            mib, fault = 0.0, str(failure)
        self.tally(server.name).memory.append(mib)
        self.tell(server.name, time.monotonic() - begin, mib, fault)

    def stop_servers(self):
        for kind, server in self.servers.items():
            status = server.stop()
            if status != 0:
                self.tallies[kind.name].faults.append(f"ended with status {status}")

    def run(self, only, short):
        def wanted(entries):
            for entry in entries:
                if (only and entry.name not in only) or (short and entry.is_long):
                    continue
                missing = [need for need in entry.needs if not shutil.which(need)]
                if missing:
                    self.skipped.append(f"{entry.name} ({', '.join(missing)})")
                else:
                    yield entry

        steps = [(self.run_program, program) for program in wanted(PROGRAMS)]
        steps += [(lambda server, _: self.drive(server), server) for server in wanted(SERVERS)]
        turn = 0
        try:
            while steps:
                for step, entry in steps:
                    # The first round is always finished: every program was seen once.
                    if turn > 0 and self.over():
                        return
                    step(entry, turn)
                turn += 1
        finally:
            self.stop_servers()

    def summary(self):
        """Prints the table; returns whether all was well."""
        print(f"\n{'program':24}{'runs':>6}{'seconds':>9}{'MiB: without':>14}{'first':>8}{'last':>8}")
        bad, names = 0, {server.name for server in SERVERS}
        for name, tally in self.tallies.items():
            faults = tally.faults + ([growth] if name in names and (growth := tally.growth()) else [])
            bad += bool(faults)
            print(f"{name:24}{tally.runs:6}{tally.seconds:9.0f}{tally.without_mib:14.1f}"
                  f"{tally.memory[0]:8.1f}{tally.memory[-1]:8.1f}   {'; '.join(faults)[:200] if faults else 'the same'}")
        for name in self.skipped:
            print(f"{name}: not installed, skipped")
        runs = sum(tally.runs for tally in self.tallies.values())
        print(f"{runs} runs of {len(self.tallies)} programs, {bad} of them with faults")
        return bad == 0 and runs > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", metavar="LIBRARY", help="libpktmalloc.so")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", action="append", metavar="NAME", help="just this program")
    parser.add_argument("--short", action="store_true", help="leave out what takes long")
    options = parser.parse_args()
    if not os.path.exists(options.library):
        print(f"soak.py: {options.library} is missing; `make` builds it", file=sys.stderr)
        return 2
    names = [entry.name for entry in [*PROGRAMS, *SERVERS]]
    for name in options.only or []:
        if name not in names:
            print(f"soak.py: no program {name!r}; known: {', '.join(names)}", file=sys.stderr)
            return 2
    soak = Soak(os.path.abspath(options.library), time.monotonic() + options.minutes * 60)
    try:
        soak.run(options.only, options.short)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    return 0 if soak.summary() else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""What an experiment is: one command, and the rows of the tables that its figures make."""
import math
import os
import shlex
import shutil
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Row:
    name: str
    unit: str = "ms"
    figure: str = "ms"  # its name in the program's JSON
    chart: str = ""     # rows of one chart are drawn together; none: the workload's name
    x: float = None     # where on the chart's x axis: number of threads, percentile


@dataclass
class Contender:
    """Another way to do the same: a hand-written pool, our library with checks."""
    command: str
    preload: str = ""  # a file, from the programs' folder
    environment: dict = field(default_factory=dict)

    def missing(self, programs):
        """Its library that is not there, or None."""
        there = not self.preload or os.path.exists(os.path.join(programs, self.preload))
        return None if there else os.path.basename(self.preload)


@dataclass
class Experiment:
    """A command, run under every allocator, and its contenders, run under glibc.

    The first word of a command is a program of the programs' folder, or of the system, when there
    is none. {real} stands for the folder of inputs, {programs} for that of the programs."""
    workload: str  # W1 .. W7, floor, micro, mixed, memory
    command: str
    rows: list
    contenders: dict = field(default_factory=dict)  # name -> Contender
    runs: float = 1          # how often in a round; 0: once in all, without warm-up
    stdin: str = ""          # a file in the folder of inputs
    environment: dict = field(default_factory=dict)
    needs: list = field(default_factory=list)  # further programs of the system
    own_preload: bool = False  # the command is told by BENCH_LIBRARY and preloads by itself
    same_output: bool = False  # prints the same under every allocator, instead of JSON

    def argv(self, programs, command):
        places = {"{real}": os.path.join(HERE, "real"), "{programs}": programs}
        words = shlex.split(command)
        for place, folder in places.items():
            words = [word.replace(place, folder) for word in words]
        built = os.path.join(programs, words[0])
        return [built if os.path.exists(built) else words[0], *words[1:]]

    def missing(self, programs, command):
        """The program that the command needs and that is not there; None when all is well."""
        if not command:
            return None
        words = self.argv(programs, command)
        files = [word for word in words[1:] if word.startswith(programs)]
        return next((os.path.basename(word) for word in [words[0], *files, *self.needs]
                     if not shutil.which(word) and not os.path.exists(word)), None)

    def runs_in_round(self, number):
        """How many runs in round `number`; -1 is the warm-up."""
        if self.runs == 0:
            return int(number == 0)
        if number < 0:
            return 1
        return math.ceil(self.runs * (number + 1)) - math.ceil(self.runs * number)


def timed(workload, command, name, chart="", x=None, **more):
    return Experiment(workload, command, [Row(name, chart=chart, x=x)], **more)

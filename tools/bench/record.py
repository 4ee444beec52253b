# SPDX-License-Identifier: MIT
"""The record of a run: one JSON file with every sample, from which tables and pictures are made.

    {"format": 2, "suite", "scale", "rounds", "rounds_done", "seconds",
     "machine": {"cpu", "kernel", "glibc", "commit", "date", ...},
     "allocators": {name: {"file", "version"}},
     "experiments": [{"workload", "command",
                      "rows": [{"name", "unit", "figure", "chart", "x"}],
                      "contenders": {name: {"command", "preload"}},
                      "samples": {name: [{figure: value, ...}, ...]}, "failed": {name: why}}],
     "targets": [{"target", "bound", "value", "reached"}]}

It is written anew after every round, so an interrupted run keeps what it has."""
import dataclasses
import datetime
import json
import os
import platform
import subprocess

from allocators import Allocator
from experiment import Contender, Experiment, Row
from results import Results

FORMAT = 2


def first_line(path, prefix=""):
    """The first line of the file that begins so, without the beginning; "" when there is none."""
    try:
        with open(path) as lines:
            return next((line[len(prefix):].strip(" \t:\n") for line in lines
                         if line.startswith(prefix)), "")
    except OSError:
        return ""


def describe_machine():
    folder = os.path.dirname(os.path.abspath(__file__))
    commit = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=40"],
                            capture_output=True, text=True)
    memory_kib = first_line("/proc/meminfo", "MemTotal").split()
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() if commit.returncode == 0 else "unknown",
        "cpu": first_line("/proc/cpuinfo", "model name") or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory_kib[0]) / 2**20, 1) if memory_kib else None,
        "load": os.getloadavg()[0],
        "kernel": platform.release(),
        "glibc": os.confstr("CS_GNU_LIBC_VERSION"),
        "transparent_hugepages": first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "overcommit_memory": first_line("/proc/sys/vm/overcommit_memory"),
        "options": {key: value for key, value in os.environ.items()
                    if key.startswith(("PKTMALLOC_", "MALLOC_", "MIMALLOC_", "TCMALLOC_",
                                       "SNMALLOC_", "RPMALLOC_"))
                    or key == "GLIBC_TUNABLES"},
    }


@dataclasses.dataclass
class Record:
    suite: str
    scale: float
    rounds: int
    machine: dict
    allocators: dict  # name -> Allocator
    experiments: list
    results: Results
    rounds_done: int = 0
    seconds: float = 0.0
    targets: list = dataclasses.field(default_factory=list)

    @property
    def complete(self):
        return self.rounds_done == self.rounds

    def write(self, path):
        results = self.results
        content = {
            "format": FORMAT, "suite": self.suite, "scale": self.scale, "rounds": self.rounds,
            "rounds_done": self.rounds_done, "seconds": round(self.seconds),
            "machine": self.machine,
            "allocators": {name: {"file": allocator.file, "version": allocator.version}
                           for name, allocator in self.allocators.items()},
            "experiments": [{
                "workload": experiment.workload, "command": experiment.command,
                "rows": [dataclasses.asdict(row) for row in experiment.rows],
                "contenders": {name: dataclasses.asdict(contender)
                               for name, contender in experiment.contenders.items()},
                "samples": {name: results.samples[experiment.command, name]
                            for name in [*self.allocators, *experiment.contenders]
                            if (experiment.command, name) in results.samples},
                "failed": {name: why for (command, name), why in results.failed.items()
                           if command == experiment.command},
            } for experiment in self.experiments],
            "targets": self.targets,
        }
        temporary = f"{path}.new"
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(temporary, "w") as output:
            json.dump(content, output, indent=1)
            output.write("\n")
        os.replace(temporary, path)


def read_record(path):
    """Raises OSError, or ValueError when the file is not such a record."""
    foreign = ValueError(f"{path}: not a benchmark record of format {FORMAT}")
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content["format"] != FORMAT:
            raise foreign
        return parse_record(content)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise foreign from None


def parse_record(content):
    results = Results(list(content["allocators"]))
    experiments = []
    for entry in content["experiments"]:
        experiments.append(Experiment(
            entry["workload"], entry["command"], [Row(**row) for row in entry["rows"]],
            {name: Contender(**contender) for name, contender in entry["contenders"].items()}))
        results.samples.update({(entry["command"], name): samples
                                for name, samples in entry["samples"].items()})
        results.failed.update({(entry["command"], name): why
                               for name, why in entry["failed"].items()})
    allocators = {name: Allocator(entry["file"], entry["version"])
                  for name, entry in content["allocators"].items()}
    return Record(content["suite"], content["scale"], content["rounds"], content["machine"],
                  allocators, experiments, results, content["rounds_done"], content["seconds"],
                  content["targets"])

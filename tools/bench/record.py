# SPDX-License-Identifier: MIT
"""The machine that figures were measured on, and the JSON record of a run."""
import datetime
import json
import os
import platform
import subprocess

from results import REFERENCE


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
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() if commit.returncode == 0 else "unknown",
        "cpu": first_line("/proc/cpuinfo", "model name") or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "kernel": platform.release(),
        "glibc": os.confstr("CS_GNU_LIBC_VERSION"),
        "transparent_hugepages": first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "overcommit_memory": first_line("/proc/sys/vm/overcommit_memory"),
        "options": {key: value for key, value in os.environ.items()
                    if key.startswith(("PKTMALLOC_", "MALLOC_", "MIMALLOC_", "TCMALLOC_"))
                    or key == "GLIBC_TUNABLES"},
    }


def write_record(path, machine, options, allocators, rows, results, targets):
    record = {
        "machine": machine, "rounds": options.rounds,
        # The file's name, not where it lies on this machine.
        "allocators": {name: path and os.path.basename(path) for name, path in allocators.items()},
        "rows": [{
            "name": row.name, "unit": row.unit,
            "samples": {name: results.samples.get((row.name, name), [])
                        for name in [REFERENCE, *allocators]},
            "median": {name: results.median(row.name, name) for name in [REFERENCE, *allocators]},
            "failed": {name: text for (failed, name), text in results.failed.items()
                       if failed == row.name},
        } for row in rows],
        "targets": [{key: line[key] for key in ("target", "bound", "value", "reached")}
                    for line in targets],
    }
    with open(path, "w") as output:
        json.dump(record, output, indent=1)
        output.write("\n")

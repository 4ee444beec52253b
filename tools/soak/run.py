# SPDX-License-Identifier: MIT
"""Run: one run of a real program, with or without the library, and how it ended.

A run gets an environment of its own: no preloaded library but ours, the library's options only
where it is there, fixed seeds, and a new folder as working directory. What outlives its time is killed with all its
descendants that stayed in its session.
"""
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

# Without them hashes, dates and the order of directory entries differ from run to run.
# PYTHONMALLOC=malloc: Python has a pool of its own otherwise.
FIXED = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "LC_ALL": "C",
         "TZ": "UTC", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


@dataclass
class Run:
    status: int      # negative: the signal that ended it
    output: str      # what it wrote to stdout
    errors: str      # and to stderr
    seconds: float
    peak_mib: float  # largest resident memory of the process and those it waited for

    def behaviour(self):
        return self.status, self.output, self.errors


def environment(library):
    variables = {name: value for name, value in os.environ.items()
                 if name != "LD_PRELOAD" and (library or not name.startswith("PKTMALLOC_"))}
    variables.update(FIXED)
    if library:
        variables["LD_PRELOAD"] = library
    return variables


def run(command, library, timeout_seconds=900):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+b") as output, \
            tempfile.TemporaryFile("w+b") as errors:
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, env=environment(library),
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                   start_new_session=True)
        deadline = begin + timeout_seconds
        try:
            while True:
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    break
                if time.monotonic() > deadline:
                    os.killpg(process.pid, signal.SIGKILL)
                    deadline += timeout_seconds
                time.sleep(0.02)
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (output, errors):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace").replace(folder, "."))
        return Run(process.returncode, *texts, time.monotonic() - begin, usage.ru_maxrss / 1024)

# SPDX-License-Identifier: MIT
"""One simulated run: the program under valgrind's lackey, its trace through a pipe into the simulator."""
import json
import os
import subprocess
import tempfile

# Ten times what the largest takes.
TIMEOUT_SECONDS = 600
# Under valgrind a program sees AVX2 where the machine has it, and the C library chooses memcpy and
# its kin by that. Without AVX2 the choice is the same everywhere.
TUNABLES = "glibc.cpu.hwcaps=-AVX2,-AVX"
# Time passes fifty times as slowly for a program under valgrind, and what an allocator does by the
# clock would come too often and never at the same place. Of ours this turns it off; of others it
# stays.
OWN_OPTIONS = {"PKTMALLOC_AGE": "1h"}


class TraceFailed(Exception):
    pass


def environment_of(run, library):
    """The same on every machine but for where the library lies."""
    preload = {"LD_PRELOAD": library} if library else {}
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "GLIBC_TUNABLES": TUNABLES, **OWN_OPTIONS,
            **run.environment, **preload}


def simulate(run, library, programs):
    """The simulator's counts. Raises TraceFailed."""
    # The descriptor's number is the same each time: the program finds it open.
    lackey = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--trace-syscalls=yes", "--log-fd=9"]
    command = ["setarch", "-R", *lackey, *run.argv(programs, run.command)]
    traced = subprocess.Popen(
        ["sh", "-c", 'exec "$@" 9>&1 >/dev/null', "sh", *command], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment_of(run, library))
    counted = subprocess.Popen([os.path.join(programs, "simulator")], stdin=traced.stdout,
                               stdout=subprocess.PIPE, text=True)
    traced.stdout.close()
    try:
        output, _ = counted.communicate(timeout=TIMEOUT_SECONDS)
        errors = traced.stderr.read()
        status = traced.wait(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise TraceFailed(f"did not end within {TIMEOUT_SECONDS} s") from None
    finally:
        for child in traced, counted:
            child.kill()
            child.wait()
        traced.stderr.close()
    if "cannot be preloaded" in errors or status != 0 or counted.returncode != 0:
        raise TraceFailed(f"exit status {status}: {errors.strip()[-200:]}")
    return json.loads(output)


def count_calls(run, own_library, programs):
    """How many objects the program allocates and frees, as pktmalloc counts it, without valgrind."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "statistics.json")
        done = subprocess.run(run.argv(programs, run.command), stdin=subprocess.DEVNULL,
                              capture_output=True,
                              env={**environment_of(run, own_library), "PKTMALLOC_STATS": path})
        if done.returncode != 0:
            raise TraceFailed(f"exit status {done.returncode} outside valgrind")
        with open(path) as file:
            process = json.load(file)["process"]
    return process["allocs"] + process["frees"] + process["passed"]

# SPDX-License-Identifier: MIT
"""One run of one command: what it printed and what it used."""
import json
import os
import signal
import subprocess
import tempfile

TIMEOUT_SECONDS = 180


class RunFailed(Exception):
    pass


def end(child):
    """Ends the child's whole session, if it has not ended by itself."""
    for number in signal.SIGTERM, signal.SIGKILL:
        if child.returncode is not None:
            return
        os.killpg(child.pid, number)
        try:
            child.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            pass


def start(argv, **how):
    """A child in a session of its own, so that the whole tree can be ended. An interruption that comes
    meanwhile is raised when the child is known, and has ended."""
    interruptions = []
    usual = signal.signal(signal.SIGINT, lambda *_: interruptions.append(True))
    try:
        child = subprocess.Popen(argv, start_new_session=True, **how)
    finally:
        signal.signal(signal.SIGINT, usual)
    if interruptions:
        end(child)
        raise KeyboardInterrupt
    return child


class Runner:
    """Runs experiments' commands by way of the program `measure` (programs/measure.c)."""

    def __init__(self, programs):
        self.programs = os.path.abspath(programs)
        self.outputs = {}  # experiment's command -> the first output, where all have to be the same

    def run(self, experiment, command, library, environment):
        """The figures of one run: those that the program printed, and `measure`'s."""
        with tempfile.NamedTemporaryFile(suffix=".json") as usage:
            argv = [os.path.join(self.programs, "measure"), usage.name,
                    "" if experiment.own_preload else library,
                    *experiment.argv(self.programs, command)]
            output = self.execute(argv, experiment, library, environment)
            used = json.load(usage)
        figures = self.printed_figures(experiment, output)
        return {"ms": used["wall_ms"], **used, **figures}

    def execute(self, argv, experiment, library, more):
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        environment.update({**experiment.environment, **more}, BENCH_LIBRARY=library)
        stdin = subprocess.DEVNULL
        if experiment.stdin:
            here = os.path.dirname(os.path.abspath(__file__))
            stdin = open(os.path.join(here, "real", experiment.stdin))
        child = start(argv, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            output, errors = child.communicate(timeout=TIMEOUT_SECONDS)
        except BaseException as error:
            end(child)
            if isinstance(error, subprocess.TimeoutExpired):
                raise RunFailed(f"did not end within {TIMEOUT_SECONDS} s") from None
            raise
        finally:
            if experiment.stdin:
                stdin.close()
        if "cannot be preloaded" in errors:
            raise RunFailed(errors.strip())
        if child.returncode != 0:
            last_words = errors.strip().splitlines()[-1:]
            raise RunFailed(" ".join([f"exit status {child.returncode}", *last_words]))
        return output

    def printed_figures(self, experiment, output):
        if experiment.same_output:
            if self.outputs.setdefault(experiment.command, output) != output:
                raise RunFailed(f"printed something else than before: {output[-80:]!r}")
            return {}
        try:
            figures = json.loads(output)
        except json.JSONDecodeError:
            raise RunFailed(f"printed no JSON: {output[:80]!r}") from None
        if "benchmarks" in figures:  # of Google Benchmark, all in ns
            return {entry["name"]: entry["real_time"] for entry in figures["benchmarks"]}
        return {key: value for key, value in figures.items() if key != "command"}

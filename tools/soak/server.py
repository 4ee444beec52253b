# SPDX-License-Identifier: MIT
"""Server: a program that runs in a folder of its own, with or without the library, until stopped.

A kind of server says how it is prepared and started, and what a turn is: `drive` asks for much and
returns the answers. Clients run without the library. What grows and must not is the memory that is
the processes' own, children included: what they share or map from files is not from malloc.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from run import environment

START_SECONDS, STOP_SECONDS, REST_SECONDS, CLIENT_SECONDS = 300, 300, 3.5, 300


class Failed(Exception):
    pass


class Server:
    name, needs, is_long = "", [], True
    socket_name = "socket"
    user = None  # who it runs as when it refuses root
    stop_signal = signal.SIGTERM

    def __init__(self, library):
        self.folder = tempfile.mkdtemp()
        self.socket_path = os.path.join(self.folder, self.socket_name)
        try:
            self.start(library)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def start(self, library):
        if library and self.other_user():
            library = shutil.copy(library, self.folder)  # where that user may read it
        if self.other_user():
            shutil.chown(self.folder, self.user)
        self.prepare()
        with open(os.path.join(self.folder, "log"), "wb") as log:
            # The server dies with whoever started it, even if that is killed.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.as_user(), *self.command()],
                cwd=self.folder, env=self.variables(self.preload(library)),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.wait_until_ready(library)
        except BaseException:
            self.end()
            raise

    def prepare(self):
        pass

    def command(self):
        raise NotImplementedError

    @staticmethod
    def preload(library):
        return library

    @staticmethod
    def variables(library):
        return environment(library)

    def other_user(self):
        return self.user is not None and os.geteuid() == 0

    def as_user(self):
        if not self.other_user():
            return []
        return ["--reuid", self.user, "--regid", self.user, "--clear-groups"]

    def wait_until_ready(self, library):
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.greet()
                break
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise Failed(f"{self.name} does not start: {self.log()}") from error
                time.sleep(0.02)
        # The loader goes on without a library that it cannot load.
        if library and os.path.realpath(library) not in self.read(self.process.pid, "maps"):
            raise Failed(f"{library} is not in {self.name}")

    def greet(self):
        """Raises an OSError while it does not serve yet."""
        self.connect().close()

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(CLIENT_SECONDS)
            connection.connect(self.socket_path)
        except OSError:
            connection.close()
            raise
        return connection

    def log(self):
        return pathlib.Path(self.folder, "log").read_text(errors="replace").strip()[-300:]

    @staticmethod
    def read(pid, name):
        return pathlib.Path(f"/proc/{pid}/{name}").read_text()

    def memory_mib(self, field, pid=None):
        """A figure of /proc's status file."""
        status = self.read(pid or self.process.pid, "status")
        return int(re.search(rf"^{field}:\s+(\d+)", status, re.M).group(1)) / 1024

    def own_mib(self):
        """Of it and its children."""
        pid = self.process.pid
        children = self.read(pid, f"task/{pid}/children").split()
        return sum(self.memory_mib("RssAnon", process) for process in [pid, *children])

    def turn(self):
        """What was answered, and its own memory after a rest."""
        try:
            answered = self.drive()
            time.sleep(REST_SECONDS)
            return answered, self.own_mib()
        except (OSError, subprocess.SubprocessError) as error:
            raise Failed(f"{self.name}: {error}; {self.log()}") from error

    def drive(self):
        raise NotImplementedError

    def run_client(self, *command):
        done = subprocess.run(command, cwd=self.folder, env=environment(None),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=CLIENT_SECONDS)
        if done.returncode != 0:
            raise Failed(f"{command[0]}: {(done.stderr or done.stdout).strip()[-200:]}")
        return done.stdout

    def end(self):
        """How it ended."""
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def stop(self):
        """The same, and nothing is left of it."""
        status = self.end()
        shutil.rmtree(self.folder, ignore_errors=True)
        return status

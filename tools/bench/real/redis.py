#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures redis-server under the allocator that the environment variable BENCH_LIBRARY names.

BENCH_LIBRARY is the path of a library to preload; empty or unset means glibc. No arguments. The
server listens on a socket in a temporary folder and saves nothing; redis-benchmark and this script
run without any preloaded library. Prints one line of JSON, which differs from run to run, as
redis-benchmark draws its keys anew:

    ms             all benchmarks, from the first request to the last answer
    user_ms        the server's own processor time meanwhile, in steps of 10 ms
    system_ms      and what the kernel spent for it
    peak_mib       the server's largest resident memory
    rss_after_mib  its resident memory two seconds after FLUSHALL

Which allocator serves Debian's redis-server: it needs libjemalloc.so.2, but imports plain malloc,
calloc, realloc, free and malloc_usable_size, so whatever is preloaded comes first; without that it
is jemalloc, never glibc. Therefore libc.so.6 is preloaded too, behind the library if there is one.
Alone it makes the case "glibc"; and for a library that passes large requests on, the next allocator
is glibc here as everywhere else. LD_DEBUG=bindings shows it for each symbol. Three names that are
jemalloc's own still reach it: mallctl and malloc_stats_print, harmless, and nallocx, a question
about sizes when a string is shrunk (tcmalloc answers that one itself). FLUSHALL ends with mallctl's
purge of all arenas: jemalloc is told to give its memory back at that moment, the others are not.

The exit status is 1, with a line on stderr, when anything failed.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

KEYS = 100_000
BENCHMARKS = [
    f"-t set,get,hset -d 64 -n 200000 -r {KEYS}",
    "-t lpush -d 64 -n 200000",
    "-t lrange_100 -d 64 -n 20000",
    f"-t set,get -d 1500 -n 60000 -r {KEYS // 5}",  # replaces a part of the short values
]
CLIENTS = "-c 20 -P 16 -q"
LEAST_KEYS = KEYS // 2  # the draws leave about 86 % of the keys in use
START_SECONDS = STOP_SECONDS = 10
BENCHMARK_SECONDS = 60
TICKS_PER_MS = os.sysconf("SC_CLK_TCK") / 1000
IDLE_SECONDS = 2


class Failed(Exception):
    pass


def environment(preload=None):
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return {**variables, "LD_PRELOAD": preload} if preload else variables


class Server:
    def __init__(self, folder, library):
        self.path = os.path.join(folder, "socket")
        self.library = library
        # setpriv: the server dies with this script, even if that is killed.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket",
             self.path, "--save", "", "--appendonly", "no", "--dir", folder],
            env=environment(f"{library} libc.so.6".strip()), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)

    def ask(self, command):
        """The first line of the answer."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(START_SECONDS)
            connection.connect(self.path)
            connection.sendall(f"{command}\r\n".encode())
            with connection.makefile() as answer:
                return answer.readline().strip()

    def wait_until_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self.process.poll() is not None:
                raise Failed(f"redis-server ended with status {self.process.returncode}")
            try:
                if self.ask("PING") == "+PONG":
                    break
            except OSError:
                pass
            if time.monotonic() > deadline:
                raise Failed(f"redis-server did not answer within {START_SECONDS} s")
            time.sleep(0.01)
        # The loader goes on without a library that it cannot load.
        if self.library and os.path.realpath(self.library) not in self.read("maps"):
            raise Failed(f"{self.library} is not in the server")

    def read(self, name):
        with open(f"/proc/{self.process.pid}/{name}") as text:
            return text.read()

    def memory_mib(self, field):
        for line in self.read("status").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
        raise Failed(f"the server has no {field}")

    def processor_ms(self):
        """User and system time so far."""
        fields = self.read("stat").rpartition(")")[2].split()  # from the third, the state, on
        return [int(ticks) / TICKS_PER_MS for ticks in fields[11:13]]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_benchmark(server, options):
    command = ["redis-benchmark", "-s", server.path, *CLIENTS.split(), *options.split()]
    done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=BENCHMARK_SECONDS)
    if done.returncode != 0:
        raise Failed(f"redis-benchmark {options}: {(done.stderr or done.stdout).strip()[-200:]}")


def measure(server):
    user_before, system_before = server.processor_ms()
    begin = time.monotonic()
    for options in BENCHMARKS:
        run_benchmark(server, options)
    elapsed = time.monotonic() - begin
    user, system = server.processor_ms()
    figures = {"ms": elapsed * 1000, "user_ms": user - user_before,
               "system_ms": system - system_before, "peak_mib": server.memory_mib("VmHWM")}
    keys = server.ask("DBSIZE")
    if not keys.startswith(":") or int(keys[1:]) < LEAST_KEYS:
        raise Failed(f"the server holds {keys} keys, expected at least {LEAST_KEYS}")
    if server.ask("FLUSHALL") != "+OK" or server.ask("DBSIZE") != ":0":
        raise Failed("FLUSHALL left something")
    time.sleep(IDLE_SECONDS)
    figures["rss_after_mib"] = server.memory_mib("VmRSS")
    return figures


def main():
    if len(sys.argv) > 1:
        print("usage: BENCH_LIBRARY=[library] redis.py", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is stopped
    library = os.environ.get("BENCH_LIBRARY", "")
    try:
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder, library and os.path.abspath(library))
            try:
                server.wait_until_ready()
                figures = measure(server)
            finally:
                server.stop()
    except (Failed, OSError, subprocess.SubprocessError) as failure:
        print(f"redis.py: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 1
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

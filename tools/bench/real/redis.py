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

The soak's servers.py says which allocator serves Debian's redis-server, and why libc.so.6 is
preloaded behind the library, and alone for "glibc". FLUSHALL ends with mallctl's purge of all
arenas: jemalloc is told to give its memory back at that moment, the others are not.

The exit status is 1, with a line on stderr, when anything failed.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "soak"))
from server import Failed  # noqa: E402
from servers import Redis  # noqa: E402

KEYS = 100_000
BENCHMARKS = [
    f"-t set,get,hset -d 64 -n 200000 -r {KEYS}",
    "-t lpush -d 64 -n 200000",
    "-t lrange_100 -d 64 -n 20000",
    f"-t set,get -d 1500 -n 60000 -r {KEYS // 5}",  # replaces a part of the short values
]
CLIENTS = "-c 20 -P 16 -q"
LEAST_KEYS = KEYS // 2  # the draws leave about 86 % of the keys in use
TICKS_PER_MS = os.sysconf("SC_CLK_TCK") / 1000
IDLE_SECONDS = 2


class Measured(Redis):
    settings = ["--appendonly", "no"]

    @staticmethod
    def variables(library):
        """The caller's own, options of the library among them."""
        return {**os.environ, "LD_PRELOAD": library}

    def processor_ms(self):
        """User and system time so far."""
        fields = self.read(self.process.pid, "stat").rpartition(")")[2].split()  # from the state on
        return [int(ticks) / TICKS_PER_MS for ticks in fields[11:13]]


def measure(server):
    user_before, system_before = server.processor_ms()
    begin = time.monotonic()
    for options in BENCHMARKS:
        server.run_client("redis-benchmark", "-s", server.socket_path, *CLIENTS.split(),
                          *options.split())
    elapsed = time.monotonic() - begin
    user, system = server.processor_ms()
    figures = {"ms": elapsed * 1000, "user_ms": user - user_before,
               "system_ms": system - system_before, "peak_mib": server.memory_mib("VmHWM")}
    keys = int(server.ask("DBSIZE"))
    if keys < LEAST_KEYS:
        raise Failed(f"the server holds {keys} keys, expected at least {LEAST_KEYS}")
    if server.ask("FLUSHALL") != "OK" or server.ask("DBSIZE") != "0":
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
        server = Measured(library and os.path.abspath(library))
        try:
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

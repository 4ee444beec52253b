# SPDX-License-Identifier: MIT
"""Three tables in Markdown: how often threads leave their own lists, as the library itself counts it
in real programs, and which cache lines then go from processor to processor, by simulation."""
import argparse
import json
import os
import subprocess
import tempfile

THREADS = (2, 4, 8, 16, 32, 64)
# About as many calls for every number of threads.
PROGRAMS = {
    "W2": lambda n: ["w2_queue", "--queue", "mutex", str(n - 1), str(2_000_000 // n)],
    "W4": lambda n: ["w4_exchange", str(n), str(max(64 // n, 1))],
    "larson": lambda n: ["w6_larson", str(n), "1000", "8", "1000", "4000000"],
}
TRIPS = ("depot_takes", "depot_gives", "fills", "drains")
PLAYS = ("queue", "pairs", "exchange", "larson")
NODES = "2"
OPERATIONS = "50000"
LINES = [f"{what}_{where}" for what in ("program", "elsewhere", "heap") for where in ("near", "far")]


def counted(command, build):
    """What the library counts in a real program, by 1000 of its calls."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "statistics.json")
        subprocess.run([os.path.join(build, "bench", command[0]), *command[1:]], check=True,
                       stdout=subprocess.DEVNULL,
                       env={**os.environ, "PKTMALLOC_STATS": path,
                            "LD_PRELOAD": os.path.abspath(os.path.join(build, "libpktmalloc.so"))})
        with open(path) as file:
            classes = json.load(file)["classes"]
    calls = sum(c["allocs"] + c["frees"] for c in classes)
    return [1000 * sum(c[name] for c in classes) / calls for name in TRIPS]


def simulated(play, threads, divided, build):
    """Lines by 1000 calls."""
    command = [os.path.join(build, "bench", "crossings"), play, str(threads), NODES, OPERATIONS]
    done = subprocess.run(command + (["divided"] if divided else []), check=True,
                          stdout=subprocess.PIPE, text=True)
    counts = json.loads(done.stdout)
    return [counts[name] for name in LINES]


def table(title, heads, rows):
    """Prints Markdown."""
    print(f"{title}\n")
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "--:|" * (len(heads) - 1))
    for name, *figures in rows:
        print(f"| {name} | " + " | ".join(f"{figure:.2f}" if figure < 10 else f"{figure:.0f}"
                                          for figure in figures) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where the programs are")
    build = parser.parse_args().build
    table("Trips by 1000 calls, counted by the library", ["program", *TRIPS],
          [[f"{name}, {n} threads", *counted(command(n), build)]
           for name, command in PROGRAMS.items() for n in THREADS])
    for divided in (False, True):
        table("Lines by 1000 calls, simulated, two nodes, "
              + ("homes divided between them" if divided else "as the library is"),
              ["play", *(name.replace("_", " ") for name in LINES)],
              [[f"{play}, {n} threads", *simulated(play, n, divided, build)]
               for play in PLAYS for n in THREADS])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""When each library stops each heap error that tests/errors/heap_error.cpp commits.

  heap_errors.py [BUILD]     runs every kind and size under every library there is, and prints a line
                             a kind, a verdict a size
  --library NAME             under that one only; may be repeated
  --kind NAME                that kind only; may be repeated
  --update                   writes tests/golden/heap_errors.txt anew, which keeps the verdicts of what
                             was not run; `make heap-errors` also writes the tables of docs/heap_errors.md

A verdict is call, later or not: stopped at the call, after it (also at exit), or never. * means that the
program ended without a word, ° that under one of our libraries another one, the next allocator, said it.
"hangs" is one, too: in ten seconds it did not end. Where three runs differ, the worst holds. A row of
LIBRARIES makes one more column.
"""
import argparse
import os
import pathlib
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/heap_errors.txt"
sys.path.insert(0, str(ROOT / "tools/bench"))
import allocators  # noqa: E402

BEST_FIRST = ["call", "call°", "call*", "later", "later°", "later*", "not", "hangs"]
RUNS = 3
PATIENCE = 10  # seconds


@dataclass
class Library:
    """A column."""
    name: str
    file: str  # in the build, or a name that tools/bench/allocators.py finds, or Debian's; "": libc alone
    table: int = 1  # 2: other allocators' own means against errors, and newer versions
    environment: dict = field(default_factory=dict)

    @property
    def is_ours(self):
        return self.file.startswith("libpktmalloc")


# No memory ages, lest a verdict depend on how long a run takes.
UNAGED = {"PKTMALLOC_AGE": "1h"}
LIBRARIES = [
    Library("pktmalloc", "libpktmalloc.so", environment=UNAGED),
    Library("guarded", "libpktmalloc.so", environment={**UNAGED, "PKTMALLOC_SAMPLE_GUARD": "1"}),
    Library("hardened", "libpktmalloc-hardened.so", environment=UNAGED),
    Library("canaries", "libpktmalloc-hardened.so", environment={**UNAGED, "PKTMALLOC_CANARY": "1"}),
    Library("checked", "libpktmalloc-checked.so", environment=UNAGED),
    Library("glibc", ""),
    Library("jemalloc", "jemalloc"),
    Library("mimalloc", "mimalloc"),
    Library("tcmalloc", "tcmalloc"),
    Library("glibc-check", "libc_malloc_debug.so.0", 2, {"GLIBC_TUNABLES": "glibc.malloc.check=3"}),
    Library("tcmalloc-debug", "libtcmalloc_minimal_debug.so.4", 2),
    *(Library(name, name, 2) for name in allocators.NEWEST + allocators.SECURE),
]


def at_hand(build, names):
    """(Library, path, version) of each that is there."""
    peers = allocators.packaged_peers({}) | allocators.built_peers(
        f"{build}/peers", allocators.NEWEST + allocators.SECURE, {})
    libc_version = os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
    for library in LIBRARIES:
        if names and library.name not in names:
            continue
        folders = [os.path.abspath(build)] if library.is_ours else allocators.LIBRARY_FOLDERS
        path = next((f"{folder}/{library.file}" for folder in folders
                     if library.file and os.path.isfile(f"{folder}/{library.file}")), None)
        if not library.file:
            yield library, "", libc_version
        elif library.file in peers:
            yield library, peers[library.file].library, peers[library.file].version
        elif path and library.is_ours:
            yield library, path, allocators.own_version(path).rstrip(",")
        elif path:
            yield library, path, allocators.package_version(path) or libc_version
        elif names:
            sys.exit(f"{library.name}: {library.file} is not there")


def verdict(program, kind, size, library, path):
    environment = {name: value for name, value in os.environ.items()
                   if name != "LD_PRELOAD" and not name.startswith("PKTMALLOC_")}
    environment |= library.environment
    if path:
        environment["LD_PRELOAD"] = path
    try:
        done = subprocess.run(
            [program, kind, size], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=PATIENCE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0 and not done.stderr:
        return "not"
    is_others = library.is_ours and not done.stderr.startswith(b"pktmalloc: ")
    return ("later" if b"error done" in done.stdout else "call") + ("*" if not done.stderr else "°" if is_others else "")


def read_kinds(program):
    """Name -> (sizes, what it does)."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: (sizes.split(), what) for name, sizes, what in (line.split("\t") for line in lines)}


def worst_verdict(*run):
    worst = BEST_FIRST[0]
    for _ in range(RUNS):
        worst = max(worst, verdict(*run), key=BEST_FIRST.index)
        if worst == BEST_FIRST[-1]:
            break
    return worst


def measured(program, kinds, library, path):
    """Kind -> its verdicts by size."""
    cells = [(kind, size) for kind, (sizes, _) in kinds.items() for size in sizes]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(cells, pool.map(lambda cell: worst_verdict(program, *cell, library, path), cells)))
    return {kind: [found[kind, size] for size in sizes] for kind, (sizes, _) in kinds.items()}


def read_golden():
    """What a line is of -> its text: "sizes", "kind NAME", "version LIBRARY", "LIBRARY KIND", and for the test
    "ours LIBRARY": its file and environment."""
    return dict(line.split(": ", 1) for line in GOLDEN.read_text().splitlines())


def write_golden(found, kinds):
    lines = {"sizes": " ".join(max((sizes for sizes, _ in kinds.values()), key=len))}
    lines |= {f"kind {name}": what for name, (_, what) in kinds.items()}
    known = (read_golden() if GOLDEN.exists() else {}) | found
    for library in LIBRARIES:
        if library.is_ours:
            lines[f"ours {library.name}"] = " ".join([library.file, *map("=".join, library.environment.items())])
        for line in (f"version {library.name}", *(f"{library.name} {kind}" for kind in kinds)):
            if line in known:
                lines[line] = known[line]
    GOLDEN.write_text("".join(f"{name}: {text}\n" for name, text in lines.items()))


def summary(verdicts, sizes):
    """One word if all sizes agree, else each from the size where it begins."""
    parts = [f"{'' if i == 0 else f'≥{size} '}{found}" for i, (found, size) in enumerate(zip(verdicts, sizes))
             if i == 0 or found != verdicts[i - 1]]
    if len(parts) <= 3:
        return ", ".join(parts)
    return ", ".join(f"{verdicts.count(found)}× {found}" for found in BEST_FIRST if found in verdicts)


def short(size):
    n = int(size)
    return size if n < 10000 else f"{n >> 20}M" if n >= 1 << 20 else f"{n >> 10}K" if n % 1024 == 0 else f"{n // 1000}k"


def table(number):
    """Rows and, below, versions, of what the golden file knows."""
    golden = read_golden()
    sizes = [short(size) for size in golden["sizes"].split()]
    names = [library.name for library in LIBRARIES
             if library.table == number and f"version {library.name}" in golden]
    lines = [["", *names], ["---"] * (len(names) + 1)]
    for kind in (line.split()[1] for line in golden if line.startswith("kind ")):
        cells = [golden.get(f"{name} {kind}", "").split() for name in names]
        lines.append([f"`{kind}`", *(summary(cell, sizes) for cell in cells)])
    versions = ", ".join(f"{name} {golden[f'version {name}']}" for name in names)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("|  |", "| |") + f"\n{versions}.\n"


def kinds_table():
    rows = "".join(f"| `{line.split()[1]}` | {text} |\n" for line, text in read_golden().items()
                   if line.startswith("kind "))
    return "| kind | what the program does |\n| --- | --- |\n" + rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(f"{options.build}/tests/bin/heap_error-plain")
    kinds = read_kinds(program)
    wanted = {name: kind for name, kind in kinds.items() if name in options.kind or not options.kind}
    found = {}
    for library, path, version in at_hand(options.build, options.library):
        print(f"{library.name} {version}")
        found[f"version {library.name}"] = version
        for kind, verdicts in measured(program, wanted, library, path).items():
            print(f"  {kind:26}", *(f"{verdict:6}" for verdict in verdicts), flush=True)
            found[f"{library.name} {kind}"] = " ".join(verdicts)
    if options.update:
        write_golden(found, kinds)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over sources of one kind of library, all as one: it writes them into the file GROUP.

Most of clang-tidy's time goes to the headers of the standard library, which are so looked at once for all. A source
that has a name in common with another one, each in its unnamed namespace, cannot stand beside it: it goes into
the next group. Exit status 1 if there is anything to say.
"""
import argparse
import pathlib
import re
import subprocess
import sys

FLAGS = ["-std=c++20", "-Wthread-safety", "-I.", "-DPKTMALLOC_DEBUG=1"]
ERROR = re.compile(r"^(\S+?):\d+:\d+: (?:fatal )?error:", re.M)


def faulty(group, flags):
    """Those sources that do not compile where they are."""
    done = subprocess.run(["clang++", "-fsyntax-only", "-ferror-limit=0", "-w", *flags, group],
                          stderr=subprocess.PIPE, text=True)
    return set(ERROR.findall(done.stderr))


def tidy(group, flags):
    """Whether there is nothing to say; what there is names the source and its line."""
    done = subprocess.run(["clang-tidy", "--quiet", group, "--", *flags], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    places, source, line = [], "", 0
    for text in group.read_text(encoding="utf-8").splitlines():
        line += 1
        places.append(f"{source}:{line}")
        if begin := re.match(r'# 1 "(.*)"', text):
            source, line = begin[1], 0
    print(re.sub(rf"{re.escape(str(group.absolute()))}:(\d+)", lambda told: places[int(told[1]) - 1], done.stdout), end="")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", type=pathlib.Path, metavar="GROUP", help="normal.cpp, checked.cpp or hardened.cpp")
    parser.add_argument("sources", nargs="+")
    options = parser.parse_args()
    flags = FLAGS + [f"-DPKTMALLOC_{kind.upper()}={int(options.group.stem == kind)}"
                     for kind in ("checked", "hardened")]
    options.group.parent.mkdir(parents=True, exist_ok=True)

    def write(sources):
        options.group.write_text("".join(f'# 1 "{source}"\n{pathlib.Path(source).read_text(encoding="utf-8")}'
                                         for source in sources), encoding="utf-8")

    left, clean = options.sources, True
    while left:
        group, left = left, []
        write(group)
        while len(group) > 1 and (apart := faulty(options.group, flags) & set(group[1:])):
            left += apart
            group = [source for source in group if source not in apart]
            write(group)
        clean &= tidy(options.group, flags)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())

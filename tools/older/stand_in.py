#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stand_in.py VERSIONS FOLDER FILE...: writes FOLDER/libc.s and libc.map, from which a stand-in for
libc is made: it has what these libraries or programs take from libc, in versions no newer than glibc 2.17.
That is the first one on 64-bit ARM, so there each function has it."""
import pathlib
import re
import subprocess
import sys

NEWEST = (2, 17)


def number(version):
    return tuple(int(part) for part in version.removeprefix("GLIBC_").split("."))


def taken(file):
    """{symbol: version} of what a file takes from libc; data that a program copies counts as defined there."""
    text = subprocess.run(["nm", "-D", file], check=True, text=True, capture_output=True).stdout
    return dict(re.findall(r" [UwBV] (\w+)@(GLIBC_[\d.]+)$", text, re.MULTILINE))


def main(versions, folder, files):
    lines = [line.split() for line in pathlib.Path(versions).read_text().splitlines()
             if not line.startswith("#")]
    first = dict(lines)
    symbols = {}
    for file in files:
        symbols |= taken(file)
    unknown = [f"{symbol} has version {version}" for symbol, version in symbols.items()
               if number(version) > NEWEST and symbol not in first]
    if unknown:
        sys.exit(f"{'; '.join(unknown)}: say in {versions} what older systems have, or do without")
    oldest = min(symbols.values(), key=number)
    chosen = {symbol: max(first.get(symbol, version), oldest, key=number) if first.get(symbol) != "-" else "-"
              for symbol, version in symbols.items()}
    nodes = {}
    for symbol, version in sorted(chosen.items()):
        if version != "-":
            nodes.setdefault(version, []).append(symbol)
    data = {"environ", "__environ", "__progname", "program_invocation_short_name", "stdin", "stdout", "stderr"}
    folder = pathlib.Path(folder)
    with open(folder / "libc.s", "w", encoding="utf-8") as code:
        code.write(".section .note.GNU-stack,\"\",@progbits\n.data\n")
        every = sorted(symbol for node in nodes.values() for symbol in node)
        if "environ" in every and "__environ" in every:  # one place, so that a program copies both as one
            every.remove("environ")
            code.write(".globl environ\n.weak environ\n.type environ,@object\n.size environ,8\n.set environ,__environ\n")
        for symbol in every:
            kind = "object" if symbol in data else "function"
            code.write(f".globl {symbol}\n.type {symbol},@{kind}\n{symbol}: .quad 0\n.size {symbol},8\n")
    with open(folder / "libc.map", "w", encoding="utf-8") as script:
        for version in sorted(nodes, key=number):
            script.write(f"{version} {{ {'; '.join(nodes[version])}; }};\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])

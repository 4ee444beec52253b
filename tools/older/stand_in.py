#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stand_in.py VERSIONS FOLDER LIBRARY...: writes FOLDER/libc.s and libc.map, from which a stand-in for
libc is made: it has what the libraries take from libc, in versions no newer than glibc 2.17."""
import pathlib
import re
import subprocess
import sys

NEWEST = (2, 17)


def number(version):
    return tuple(int(part) for part in version.removeprefix("GLIBC_").split("."))


def taken(library):
    """{symbol: version} of what a library takes from libc."""
    text = subprocess.run(["nm", "-D", "--undefined-only", library], check=True, text=True,
                          capture_output=True).stdout
    return dict(re.findall(r"(\w+)@(GLIBC_[\d.]+)$", text, re.MULTILINE))


def main(versions, folder, libraries):
    lines = [line.split() for line in pathlib.Path(versions).read_text().splitlines()
             if not line.startswith("#")]
    first = dict(lines)
    symbols = {}
    for library in libraries:
        symbols |= taken(library)
    unknown = [f"{symbol} has version {version}" for symbol, version in symbols.items()
               if number(version) > NEWEST and symbol not in first]
    if unknown:
        sys.exit(f"{'; '.join(unknown)}: say in {versions} what older systems have, or do without")
    chosen = {symbol: first.get(symbol, version) for symbol, version in symbols.items()}
    nodes = {}
    for symbol, version in sorted(chosen.items()):
        if version != "-":
            nodes.setdefault(version, []).append(symbol)
    data = {"environ", "__environ", "__progname", "program_invocation_short_name"}
    folder = pathlib.Path(folder)
    with open(folder / "libc.s", "w", encoding="utf-8") as code:
        code.write(".section .note.GNU-stack,\"\",@progbits\n.data\n")
        for symbol in sorted(symbol for node in nodes.values() for symbol in node):
            kind = "object" if symbol in data else "function"
            code.write(f".globl {symbol}\n.type {symbol},@{kind}\n{symbol}: .quad 0\n.size {symbol},8\n")
    with open(folder / "libc.map", "w", encoding="utf-8") as script:
        for version in sorted(nodes, key=number):
            script.write(f"{version} {{ {'; '.join(nodes[version])}; }};\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps documents and .def files together.

Without an option writes the generated parts anew: README.md's table of options (between the marks
"options begin" and "options end") from preload/options.def. With --check changes nothing and fails
where a part is out of date, or where docs/statistics.md does not define a key of
preload/statistics.def.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRING = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
OPTION = re.compile(r"^OPTION\((\w+),\s*" + STRING + r",\s*" + STRING + r",\s*" + STRING + r"\)", re.M)
STATISTIC = re.compile(r"^(PROCESS|CLASS)_STATISTIC\((\w+),", re.M)
BEGIN, END = "<!-- options begin -->\n", "<!-- options end -->"


def joined(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))


def option_table():
    rows = ["| variable | default | values | what it does |", "|---|---|---|---|"]
    for name, default, accepted, text in OPTION.findall((ROOT / "preload/options.def").read_text()):
        rows.append(f"| `PKTMALLOC_{name}` | `{joined(default)}` | {joined(accepted)} | {joined(text)} |")
    return "\n".join(rows) + "\n"


def with_table(readme):
    before, rest = readme.split(BEGIN)
    return before + BEGIN + option_table() + END + rest.split(END)[1]


def main(check):
    faults = []
    path = ROOT / "README.md"
    readme = path.read_text()
    wanted = with_table(readme)
    if readme != wanted:
        if check:
            faults.append("README.md: the table of options is out of date; run: make docs")
        else:
            path.write_text(wanted)
    glossary = (ROOT / "docs/statistics.md").read_text()
    for scope, key in STATISTIC.findall((ROOT / "preload/statistics.def").read_text()):
        if f"`{key}`" not in glossary:
            faults.append(f"docs/statistics.md: does not define {scope.lower()} statistic `{key}`")
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

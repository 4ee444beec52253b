#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps documents and .def files together.

Without an option writes the generated parts of README.md anew, each between a pair of marks such as
"options begin" and "options end": the table of options from preload/options.def, the figures from
docs/figures.json (a record of `make bench-quick`). With --check changes nothing and fails
where a part is out of date, or where docs/statistics.md does not define a key of
preload/statistics.def.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRING = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
OPTION = re.compile(r"^OPTION\((\w+),\s*" + STRING + r",\s*" + STRING + r",\s*" + STRING + r"\)", re.M)
STATISTIC = re.compile(r"^(PROCESS|CLASS)_STATISTIC\((\w+),", re.M)
def joined(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))


def option_table():
    rows = ["| variable | default | values | what it does |", "|---|---|---|---|"]
    for name, default, accepted, text in OPTION.findall((ROOT / "preload/options.def").read_text()):
        rows.append(f"| `PKTMALLOC_{name}` | `{joined(default)}` | {joined(accepted)} | {joined(text)} |")
    return "\n".join(rows) + "\n"


def figure(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def figures_table():
    record = json.loads((ROOT / "docs/figures.json").read_text())
    machine, names = record["machine"], ["reference", *record["allocators"]]
    head = ["by hand" if name == "reference" else name for name in names]
    rows = [f"| | unit | {' | '.join(head)} |", "|---|---|" + "--:|" * len(head)]
    for row in record["rows"]:
        median = [row["median"].get(name) for name in names]
        best = min(value for value in median[1:] if value is not None)
        cells = [f"**{figure(v)}**" if v == best and name != "reference" else figure(v)
                 for name, v in zip(names, median)]
        rows.append(f"| {row['name']} | {row['unit']} | {' | '.join(cells)} |")
    rows.append(f"\n{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, "
                f"{machine['glibc']}, {record['rounds']} rounds, commit {machine['commit'][:12]}, "
                f"{machine['date'][:10]}.")
    return "\n".join(rows) + "\n"


GENERATED = {"options": option_table, "figures": figures_table}


def with_generated(readme):
    for name, make in GENERATED.items():
        begin, end = f"<!-- {name} begin -->\n", f"<!-- {name} end -->"
        before, rest = readme.split(begin)
        readme = before + begin + make() + end + rest.split(end)[1]
    return readme


def main(check):
    faults = []
    path = ROOT / "README.md"
    readme = path.read_text()
    wanted = with_generated(readme)
    if readme != wanted:
        if check:
            faults.append("README.md: a generated part is out of date; run: make docs")
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

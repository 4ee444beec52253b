#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps documents and .def files together.

Without an option writes the generated parts of the documents anew, each between a pair of marks such
as "options begin" and "options end": options and statistics from .def files, the
figures from tools/bench/published.json (written by `make bench-publish`), verdicts from
tests/golden/heap_errors.txt (by `make heap-errors`). With --check changes nothing
and fails where a part is out of date, docs/conformance.md names a program that is not in tests/programs,
docs/concurrency.md lacks a lock's rank, or an atomic that is stronger than relaxed, or docs/CHANGELOG.md the version.
"""
import html
import json
import pathlib
import re
import sys
import textwrap

import heap_errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRING = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
# Name, what `pktmalloc run` has in its place, default, accepted values, help.
OPTION = re.compile(r"^OPTION\((\w+), \w+, (\w+), .*?,\s*" + STRING + r",\s*" + STRING + r",\s*" + STRING + r"\)$", re.M)
STATISTICS = "preload/formats/statistics.def", "sizeclass/base/class_statistics.def"
STATISTIC = re.compile(r'^(PROCESS|CLASS)_STATISTIC\((\w+), (\w+), "(.*)"\)', re.M)

ATOMIC = re.compile(r"^(?:\[\[.*\]\] | |constinit |inline |thread_local )*std::atomic<.+?>\*? ([a-z]\w*)(?!\w*\()",
                    re.M)
# A call on an atomic; its arguments may hold calls.
ACCESS = re.compile(r"\b(\w+)(?:\[[^\]]*\])?(?:\.|->)(?:load|store|exchange|fetch_\w+|compare_exchange_\w+)"
                    r"\(((?:[^()]|\([^()]*\))*)\)")
RANKS = re.compile(r"^enum class LockRank .*?^};|part_rank\(PartId::\w+", re.M | re.S)


def joined(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))


def options():
    for name, run, *texts in OPTION.findall((ROOT / "preload/formats/options.def").read_text()):
        yield name, run, *map(joined, texts)


def option_table():
    rows = ["| variable | default | values | what it does |", "|---|---|---|---|"]
    for name, _, default, accepted, text in options():
        rows.append(f"| `PKTMALLOC_{name}` | `{default}` | {accepted} | {text} |")
    return "\n".join(rows) + "\n"


def option_list():
    """For the man page of run, which has them under names without PKTMALLOC_ and the group's."""
    def option(name):
        return "-" + re.sub("^(STATS|PROFILE)_", "", name).lower().replace("_", "-")

    items = ""
    for name, run, default, accepted, text in options():
        if run not in ("Flag", "File", "Value"):
            continue
        value = {"Flag": "", "File": " Ar file", "Value": " Ar value"}[run]
        if run == "Flag":
            text = re.sub("; 0: .*", "", text)  # what its variable takes
        text = re.sub(r"PKTMALLOC_(\w+)", lambda variable: "-" + option(variable[1]), text)
        items += f".It Fl {option(name)}{value}\n{text[0].upper()}{text[1:]}.\n"
        if run == "Value":
            items += f"The value: {accepted}" + (f"; by default {default}.\n" if default != "default" else ".\n")
    return "".join(textwrap.fill(line, 100, break_on_hyphens=False) + "\n" for line in items.splitlines())


def statistic_table(scope):
    all_rows = "".join((ROOT / name).read_text() for name in STATISTICS)
    rows = "".join(f"| `{key}` | {kind} | {text} |\n"
                   for of, key, kind, text in STATISTIC.findall(all_rows) if of == scope)
    return "| key | kind | what |\n|---|---|---|\n" + rows


def figure(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(head, rows, left=1):
    """The first `left` columns are text."""
    lines = [head, ["---"] * left + ["--:"] * (len(head) - left), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def html_table(head, rows, left=1):
    """For a page: what a table of a document cannot hold."""
    lines = []
    for tag, cells in [("th", head), *(("td", row) for row in rows)]:
        lines.append("<tr>" + "".join(f"<{tag}{' class=text' * (place < left)}>{html.escape(cell)}"
                                      for place, cell in enumerate(cells)) + "\n")
    return "<table>\n" + "".join(lines) + "</table>\n"


def marked(medians, name):
    """The best of a row in bold."""
    value = medians.get(name)
    best = min((other for other in medians.values() if other is not None), default=None)
    return f"**{figure(value)}**" if value is not None and value == best else figure(value)


def summary():
    return json.loads((ROOT / "tools/bench/published.json").read_text())


def machine_line(figures):
    machine = figures["machine"]
    versions = ", ".join(f"{name} {entry['version']}"
                         for name, entry in figures["allocators"].items() if name != "glibc")
    return (f"\n{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, "
            f"{machine['glibc']}, {figures['rounds']} rounds, commit {machine['commit'][:12]}, "
            f"{machine['date'][:10]}; {versions}.\n")


def means_table():
    """Time against glibc's, by workload."""
    figures = summary()
    names = list(figures["allocators"])
    rows = [[workload, *(marked(means, name) for name in names)]
            for workload, means in figures["means"].items()]
    return table(["time / glibc's", *names], rows) + machine_line(figures)


def headline_table():
    """Three figures: means of two workloads, and what is resident after a peak."""
    figures = summary()
    peak = next(row["medians"] for row in figures["rows"] if row["name"] == "peak, 2 threads idle")
    rows = []
    for name, values in (("packets behind smart pointers", figures["means"]["W1"]),
                         ("threads that exchange objects", figures["means"]["W4"]),
                         ("memory after a peak, threads idle", peak)):
        times = {other: values["glibc"] / value for other, value in values.items() if other != "glibc"}
        own = times.pop("pktmalloc")
        peer = max(times, key=times.get)
        rows.append([name, f"**{figure(own)} x**", f"{figure(times[peer])} x ({peer})"])
    return table(["times as good as glibc", "pktmalloc", "best peer"], rows)


# Contenders that are no pool: only in the floor they stand for what is done by hand.
NO_POOL = ("empty functions", "by value")


def figures_table():
    """The main rows, with Debian's peers."""
    figures = summary()
    names = [name for name in figures["allocators"]
             if name in ("glibc", "jemalloc", "mimalloc", "tcmalloc", "pktmalloc")]
    rows = []
    for row in figures["rows"]:
        if row["main"]:
            by_hand = [value for name, value in row["by_hand"].items() if value is not None
                       and (name not in NO_POOL or row["workload"] == "floor")]
            medians = {name: row["medians"].get(name) for name in names}
            rows.append([row["name"], row["unit"], figure(min(by_hand, default=None)),
                         *(marked(medians, name) for name in names)])
    return table(["", "unit", "by hand", *names], rows, left=2)


def results_table():
    """Every row against glibc and the best peer."""
    figures = summary()
    rows = []
    for row in figures["rows"]:
        own, glibc = row["medians"]["pktmalloc"], row["medians"]["glibc"]
        peer = row["medians"].get(row["best_peer"]) if row["best_peer"] else None
        noise = " ~" if "pktmalloc" in row["noisy"] else ""
        rows.append([row["name"], row["unit"], figure(glibc), figure(peer), row["best_peer"] or "",
                     figure(own) + noise, figure(glibc / own) if own and glibc else "",
                     figure(peer / own) if own and peer else ""])
    return (html_table(["", "unit", "glibc", "best peer", "which", "pktmalloc", "vs glibc", "vs peer"], rows, left=2)
            + f"<p>{machine_line(figures)}")


def losses_table(most=12):
    """Where another allocator is ahead by more than noise, the worst first."""
    rows = [[loss["row"], loss["other"], f"{figure(loss['times'])} x"]
            for loss in summary()["losses"] if loss["beyond_noise"]]
    return table(["row", "ahead", "we use"], rows[:most], left=2) + f"\nThese are {most} of {len(rows)}.\n"


def targets_table():
    words = {True: "reached", False: "missed", None: "not measured"}
    return html_table(["target", "bound", "measured", ""],
                      [[line["target"], line["bound"], figure(line["value"]), words[line["reached"]]]
                       for line in summary()["targets"]], left=2)


# Document -> the names of its generated parts.
GENERATED = {
    "README.md": {"headline": headline_table},
    "docs/options.md": {"options": option_table},
    "docs/man/pktmalloc-run.1": {"options": option_list},
    "docs/statistics.md": {"process": lambda: statistic_table("PROCESS"), "class": lambda: statistic_table("CLASS")},
    "docs/benchmarks.md": {"means": means_table, "figures": figures_table, "losses": losses_table},
    "docs/benchmarks.html": {"results": results_table, "targets": targets_table},
    "docs/heap_errors.md": {"verdicts": lambda: heap_errors.table(1), "others": lambda: heap_errors.table(2),
                            "kinds": heap_errors.kinds_table},
}


def with_generated(text, parts, mark):
    for name, make in parts.items():
        begin, end = mark.format(f"{name} begin") + "\n", mark.format(f"{name} end")
        before, rest = text.split(begin)
        text = before + begin + make() + end + rest.split(end)[1]
    return text


def main(check):
    faults = []
    for name, parts in GENERATED.items():
        path = ROOT / name
        text = path.read_text()
        wanted = with_generated(text, parts, '.\\" {}' if path.suffix == ".1" else "<!-- {} -->")
        if text == wanted:
            continue
        if check:
            faults.append(f"{name}: a generated part is out of date; run: make docs")
        else:
            path.write_text(wanted)
    for line in (ROOT / "docs/conformance.md").read_text().splitlines():
        proof = line.rstrip("| ").rpartition("|")[2] if line.startswith("| ") else ""
        for name in re.findall(r"`(\w+)`", proof):
            if not list((ROOT / "tests/programs").glob(f"{name}.c*")):
                faults.append(f"docs/conformance.md: no program {name} in tests/programs")
    version = re.search('_VERSION "(.*)"', (ROOT / "preload/contract/pktmalloc.h").read_text())[1]
    if not re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", (ROOT / "docs/CHANGELOG.md").read_text(), re.M):
        faults.append(f"docs/CHANGELOG.md: has no version {version} with its date")
    concurrency = (ROOT / "docs/concurrency.md").read_text()
    sources = {path: path.read_text() for folder in ("sizeclass", "preload")
               for path in sorted((ROOT / folder).rglob("*.[hc]*"))}
    strong = {name for code in sources.values() for name, how in ACCESS.findall(code)
              if "memory_order" not in how or re.search("acq|release|seq_cst", how)}
    for path, code in sources.items():
        ranks = [name for enum in RANKS.findall(code) for name in re.findall(r"(?:^  |PartId::)(\w+)", enum, re.M)]
        for name in [name for name in ATOMIC.findall(code) if name in strong] + ranks:
            if not re.search(rf"\b{name}\b", concurrency):
                faults.append(f"docs/concurrency.md: lacks {name} of {path.relative_to(ROOT)}")
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that includes point down, from folder to folder, and that no two files include each other.

Top to bottom: tests, tools (the contract, the formats, the class table), preload, sizeclass. Inside
sizeclass, preload and tools/command the folders have an order, a line a level: a file includes what lies in
its own folder or in one of a lower line. Inside a folder the files form no circle; a header counts
as one with the .cpp of its name. A folder that is in no list fails the check: give it a place. A
library that takes seconds to compile is included by one file only.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = (".h", ".hpp", ".cpp", ".c", ".def")
# What may be included by path. The class table and the shape of magazines are the engine's; a
# simulation drives it by its front door; what is particular to a processor lies in one file. Who
# looks at the objects of another process knows the headers of the checked library, and the tables of the heap
# profile.
FOLDERS = {
    "sizeclass": ("sizeclass/",),
    "preload": ("sizeclass/", "preload/"),
    "tools": ("tools/", "preload/contract/", "preload/formats/", "sizeclass/slabs/class_table.h",
              "sizeclass/exchange/magazine.h", "sizeclass/heap/heap.h", "sizeclass/base/machine.h",
              "preload/checked/object.h", "preload/recording/profile.h",
              "preload/recording/sample_table.h"),
}
# Folders, top to bottom; those of one line do not include each other. "." are the files beside
# them.
ROOMS = {
    "sizeclass": ["heap", "exchange", "slabs", "base"],
    "preload": [
        "exports",
        "checked hardened",
        "serving",
        "reports",
        "guard",
        "recording",
        "stacks",
        "process",
        "base",
        "formats",
        "contract",
    ],
    "tools/command": [
        ". subcommands",
        "exporter top",
        "heap",
        "doctor compare report tune replay profile recovery",
        "live",
        "system page",
        "text",
    ],
}
# Nouns beside the folders of the command that all of them share.
SHARED = ("tools/command/failure.h", "tools/command/file_kind.h", "tools/command/reading.h")
# Libraries that take seconds to compile, and who includes them.
COSTLY = {"CLI": "tools/command/command_line.cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def includes(path):
    """The files of the project that the file includes, by their paths from the root."""
    found = []
    for target in INCLUDE.findall(path.read_text()):
        for candidate in (ROOT / target, path.parent / target):
            if candidate.is_file():
                found.append(candidate.relative_to(ROOT))
                break
    return found


def crossings(folder, graph):
    """Includes that leave the folder for what does not lie below it."""
    for path, targets in graph.items():
        for target in targets:
            if not str(target).startswith((*FOLDERS[folder], str(path.parent) + "/")):
                yield f"{path}: includes {target}, which is not below {folder}/"


def room_of(path, base):
    below = path.relative_to(base)
    return below.parts[0] if len(below.parts) > 1 else "."


def climbs(base, levels, graph):
    """Includes between the rooms of a folder that do not point down."""
    level = {room: n for n, line in enumerate(levels) for room in line.split()}
    for path, targets in graph.items():
        if not path.is_relative_to(base):
            continue
        room = room_of(path, base)
        if room not in level:
            yield f"{base}/{room}: has no place in tools/check/layers.py"
            continue
        for target in targets:
            if not target.is_relative_to(base) or str(target) in SHARED:
                continue
            other = room_of(target, base)
            if other != room and level.get(other, -1) <= level[room]:
                yield f"{path}: includes {target}, which is not below it"


def circles(graph):
    """Files that include each other, by way of others perhaps."""
    units = {}
    for path, targets in graph.items():
        unit = units.setdefault(path.with_suffix(""), set())
        unit.update(target.with_suffix("") for target in targets)
    done, trail = set(), []

    def walk(unit):
        if unit in trail:
            yield "a circle: " + " -> ".join(map(str, trail[trail.index(unit):] + [unit]))
        elif unit not in done:
            trail.append(unit)
            for target in sorted(units.get(unit, set()) - {unit}):
                yield from walk(target)
            trail.pop()
            done.add(unit)

    for unit in sorted(units):
        yield from walk(unit)


def costs(graph):
    """Includes of a costly library by another file than its own."""
    for path in graph:
        for library, owner in COSTLY.items():
            if f"#include <{library}/" in (ROOT / path).read_text() and str(path) != owner:
                yield f"{path}: includes {library}, which only {owner} may"


def main():
    graph, faults = {}, []
    for folder in FOLDERS:
        part = {path.relative_to(ROOT): includes(path)
                for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES}
        faults += crossings(folder, part)
        graph |= part
    for base, levels in ROOMS.items():
        faults += climbs(base, levels, graph)
    faults += circles(graph)
    faults += costs(graph)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that includes point down the ladder of layers, and that no two files include each other.

Folders: tools -> (class table and magazines only), preload -> sizeclass, tests -> all.
Inside sizeclass each file may include only what stands below it in the list; inside preload the
exports stand above the rest. A file that is in no list fails the check: give it a place.
"""
import pathlib
import re
import sys

# Top to bottom; files of one line are on one level and do not include each other.
SIZECLASS = [
    "heap",
    "ageing window",
    "cache",
    "depot magazine_store",
    "sharded_stack slab_area",
    "magazine_stack",
    "magazine",
    "class_table growth low_water slab_set mutex stripes",
    "statistics",
    "allowance area_place budget class_id classes clock memory misuse owned rounding",
    "keep_errno thread_safety",
]
PRELOAD = [
    "malloc new introspection dlopen",
    "front",
    "checked_entry life",
    "quarantine",
    "entry",
    "inspection",
    "lookup",
    "guard large_objects",
    "finding",
    "object",
    "process",  # process.cpp; its header stands at the bottom
    "trace",
    "trace_buffer trace_file",
    "reporter",
    "report",
    "report_file",
    "leaks format_profile sizes",
    "profile address_table size_histogram",
    "snapshot window",
    "format format_text format_json format_prometheus",
    "route",
    "background",
    "sample_table",
    "sampler",
    "compressor own_thread",
    "next_allocator",
    "frame_pointers",
    "symbols",
    "demangler symbol_table",
    "address_map",
    "options",
    "stacks",
    "unwinder",
    "observer",
    "thread writer message statistics export environment bytes",
    "growing_array lock_rank mapping call checks observer.h process.h reporter.h pktmalloc.h window.h futex quiet_write "
    "trace_format",
]
# Folder -> what its files may include by path.
FOLDERS = {
    "sizeclass": ("sizeclass/",),
    "preload": ("sizeclass/", "preload/"),
    # The class table, the shapes of the statistics and options, and for a benchmark of the depot
    # what it is made of.
    "tools": ("tools/", "sizeclass/class_table.h", "sizeclass/class_id.h", "sizeclass/classes.def",
              "preload/pktmalloc.h", "preload/statistics.h", "preload/statistics.def",
              "preload/options.def", "preload/window.h", "preload/format.h", "preload/bytes.h",
              "preload/trace_format.h", "sizeclass/statistics.h",
              "sizeclass/magazine.h", "sizeclass/sharded_stack.h"),
}
# Folders of tools/command, top to bottom; those of one line do not include each other. Above them
# all are the subcommands, below them the nouns that all share.
COMMAND = [
    "doctor compare report tune replay profile",
    "live",
    "system page",
    "text",
]
COMMAND_SHARED = ("failure.h", "file_kind.h", "reading.h")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def ranks(ladder):
    return {name: i for i, line in enumerate(ladder) for name in line.split()}


def rank(path, table):
    return table.get(path.name, table.get(path.stem))


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    ladders = {"sizeclass": ranks(SIZECLASS), "preload": ranks(PRELOAD)}
    faults = []
    for folder, allowed in FOLDERS.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".c", ".def"):
                continue
            here = path.relative_to(root)
            mine = rank(path, ladders[folder]) if folder in ladders else None
            if folder in ladders and mine is None:
                faults.append(f"{here}: has no place in the ladder of tools/check/layers.py")
                continue
            for target in INCLUDE.findall(path.read_text()):
                beside = (path.parent / target).resolve()
                if beside.exists() and beside.is_relative_to(root / folder):
                    continue  # a neighbour in the same folder
                if not target.startswith(allowed):
                    faults.append(f"{here}: includes {target}, which is not below {folder}/")
                elif folder in ladders and target.startswith(folder + "/"):
                    other = pathlib.Path(target)
                    theirs = rank(other, ladders[folder])
                    if theirs is None or (theirs <= mine and other.stem != path.stem
                                          and not same_part(path, other)):
                        faults.append(f"{here}: includes {target}, which is not below it")
    faults += command_faults(root / "tools/command")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def command_faults(command):
    """Includes between the folders of the command that do not point down."""
    table = ranks(COMMAND)
    faults = []
    for path in sorted(command.glob("*/*")):
        folder = path.parent.name
        if folder not in table:
            faults.append(f"tools/command/{folder}: has no place in tools/check/layers.py")
            continue
        for target in re.findall(r'"tools/command/([a-z_/.]+)"', path.read_text()):
            other = target.split("/")[0]
            if other != folder and target not in COMMAND_SHARED and (
                    other not in table or table[other] <= table[folder]):
                faults.append(f"tools/command/{folder}/{path.name}: includes {target}, "
                              "which is not below it")
    return faults


def same_part(path, other):
    """format_json.cpp is a part of format.h."""
    return path.suffix == ".cpp" and path.stem.startswith(other.stem + "_")


if __name__ == "__main__":
    sys.exit(main())

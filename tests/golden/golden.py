#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What must not drift: exported symbols, the types of our own functions, needed libraries,
instructions of the fast paths, what a common trip touches, and the cache lines that cross between simulated processors.

  golden.py BUILD NAME            compares BUILD/libpktmalloc.so with tests/golden/NAME.txt
  golden.py BUILD NAME --update   writes the file anew

NAME is symbols, interface, needed, older, start, instructions, trips or crossings. Instructions are counted by
callgrind, per call, for one function at a time, and locked ones of calls that the next allocator serves. Crossings are
counted over the heap's own references and those to its objects, wherever they lie. All are the same on every x86-64
machine with the same compiler.
"""
import collections
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FUNCTIONS = {"malloc": ("malloc", "__libc_malloc"), "free": ("free", "cfree", "__libc_free", "__libc_cfree"),
             "operator new": ("operator new(unsigned long)", "_Znwm"),
             "operator delete": ("operator delete(void*)", "_ZdlPv")}
# Of the program itself, with its loop, and of calls for 32 objects each.
INLINED = {"pair inlined by pktmalloc.hpp, its loop included": ("inlined_pairs",),
           "pktmalloc_allocate_batch, 32 objects": ("pktmalloc_allocate_batch", "pktmalloc::Cache::allocate_run"),
           "pktmalloc_release_batch, 32 objects": ("pktmalloc_release_batch", "pktmalloc::Cache::release_run")}

# Arguments of tools/bench/simulated/crossings: play, threads, nodes, turns a thread.
PLAYS = ["queue 4 2 20000", "pairs 4 2 20000", "exchange 4 2 20000", "larson 4 2 20000"]


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def symbols(build):
    lines = output("nm", "-D", "--defined-only", f"{build}/libpktmalloc.so").splitlines()
    return sorted(line.split()[-1] for line in lines)


def interface(build):
    """The types, sizes and offsets of all that pktmalloc.h declares, and that nothing of it is left out."""
    declared = set(re.findall(r"\b(pktmalloc_\w+)\(", (HERE.parents[1] / "preload/contract/pktmalloc.h").read_text()))
    described = set(re.findall(r"&(pktmalloc_\w+)\b", (HERE / "interface.c").read_text()))
    with tempfile.TemporaryDirectory() as folder:
        library = str(pathlib.Path(folder) / "interface.so")
        output("gcc", "-g", "-shared", "-fPIC", "-Ipreload/contract", str(HERE / "interface.c"), "-o", library)
        types = output("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-architecture",
                       "--type-id-style", "hash", library)
    if declared != described:
        sys.exit(f"tests/golden/interface.c and pktmalloc.h differ in {sorted(declared ^ described)}")
    return re.sub(r" (path|version)='[^']*'", "", types).splitlines()


def needed(build):
    return sorted(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", f"{build}/libpktmalloc.so")))


def older(build):
    """What the library for older systems needs, and the newest version of libc's functions in it and the command."""
    files = [f"{build}/older/{name}" for name in ("libpktmalloc.so", "pktmalloc")]
    versions = set(re.findall(r"\(GLIBC_([\d.]+)\)", output("objdump", "-T", *files)))
    newest = max(versions, key=lambda version: [int(part) for part in version.split(".")])
    return needed(f"{build}/older") + [f"GLIBC_{newest}"]


def callgrind(build, program, arguments, folder, *options, library="libpktmalloc.so", **variables):
    """What callgrind wrote of the program's run."""
    out = pathlib.Path(folder) / "callgrind.out"
    output("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-strings=no",
           "--compress-pos=no", *options, str(program), *str(arguments).split(),
           env={"LD_PRELOAD": str(pathlib.Path(build).resolve() / library), "PATH": "/usr/bin:/bin",
                **variables})
    return out.read_text()


def costs(build, program, arguments, folder, **library):
    """Instructions that each function executed itself, by name."""
    total, name, skip = {}, None, False
    for line in callgrind(build, program, arguments, folder, **library).splitlines():
        if line.startswith("fn="):
            name = line[3:]
        elif line.startswith("calls="):
            skip = True  # the next line is the callee's cost
        elif line and (line[0].isdigit() or line[0] in "+-*"):
            if not skip and name is not None:
                total[name] = total.get(name, 0) + int(line.split()[1])
            skip = False
    return total


def locked_when_passed_on(build, program, count, folder):
    """Locked instructions of a run whose calls are all passed on, of which threads could wait for each other."""
    text = callgrind(build, program, count, folder, "--collect-bus=yes",
                     PKTMALLOC_CLASSES="1024", PKTMALLOC_AGE="1h")
    events = re.search(r"^events: (.*)$", text, re.M)[1].split()
    return int(re.search(r"^totals: (.*)$", text, re.M)[1].split()[events.index("Ge")])


def instructions(build):
    counts = (1000, 2000)
    with tempfile.TemporaryDirectory() as folder:
        pairs, inlined = pathlib.Path(folder) / "pairs", pathlib.Path(folder) / "inlined"
        output("g++", "-O1", "-fno-builtin", "-o", str(pairs), str(HERE / "pairs.cpp"))
        output("g++", "-std=c++17", "-O2", "-I.", "-o", str(inlined), str(HERE / "inlined.cpp"))
        few, many = (costs(build, pairs, count, folder) for count in counts)
        few_hardened, many_hardened = (costs(build, pairs, count, folder, library="libpktmalloc-hardened.so")
                                       for count in counts)
        few_inlined, many_inlined = (costs(build, inlined, count, folder) for count in counts)
        few_large, many_large = (costs(build, pairs, f"{count} 40000", folder) for count in counts)
        locked = [locked_when_passed_on(build, pairs, count, folder) for count in counts]

    def each(name, more):
        return f"{name} {more // 1000 if more % 1000 == 0 else more / 1000}"
    def functions(few, many, where):
        return [each(where + function, sum(many.get(name, 0) - few.get(name, 0) for name in names))
                for function, names in FUNCTIONS.items()]
    lines = functions(few, many, "") + functions(few_hardened, many_hardened, "hardened ")
    lines += [each(what, sum(cost - few_inlined.get(function, 0) for function, cost in many_inlined.items()
                             if function.split("(")[0] in names))
              for what, names in INLINED.items()]
    # On a loaded machine a few calls more look at the clock.
    large = sum(cost - few_large.get(function, 0) for function, cost in many_large.items()
                if re.match(r"(malloc|(__libc_)?c?free|pktmalloc::.*(allocate|release).*)$", function))
    lines.append(each("pair of 40,000 bytes and free of null", round(large, -3)))
    lines.append(f"locked, in 2000 pairs that are passed on {locked[1] - locked[0]}")
    return lines


def start(build):
    """What a small process pays: relocations of the library, pages of its file that are written, stretches of 64 KiB of
    its code that are entered, addresses asked for at once, and system calls beyond those of a library without contents."""
    library = f"{build}/libpktmalloc.so"
    relocations = output("readelf", "-rW", library)
    loaded = re.search(r"LOAD .* RW ", output("readelf", "-lW", library))[0].split()
    begin, in_file = int(loaded[2], 16), int(loaded[4], 16)
    with tempfile.TemporaryDirectory() as folder:
        empty, trace = pathlib.Path(folder) / "empty.so", pathlib.Path(folder) / "trace"
        output("gcc", "-shared", "-x", "c", "/dev/null", "-o", str(empty))
        def calls(of):
            output("strace", "-o", str(trace), "-E", f"LD_PRELOAD={pathlib.Path(of).resolve()}", "/bin/true")
            return collections.Counter(re.findall(r"^(\w+)\(", trace.read_text(), re.M))
        more = calls(library)
        largest = max(int(size) for size in re.findall(r"^mmap\([^,]+, (\d+),", trace.read_text(), re.M))
        more -= calls(empty)
        base, low, high, _ = traced(build, trace, "/bin/cat", "/proc/self/maps")
        entered = {(address - base) >> 16 for kind, address in references(trace) if kind == "I" and low <= address < high}
    return [f"relocations relative to the library {relocations.count('R_X86_64_RELATIVE')}",
            f"relocations by a symbol's name {len(re.findall('R_X86_64_(?:JUMP_SLOT|GLOB_DAT|64) ', relocations))}",
            f"pages of the file that may be written {((begin + in_file - 1) >> 12) - (begin >> 12) + 1}",
            f"stretches of code {len(entered)}",
            f"MiB of the largest mapping {largest >> 20}",
            *(f"call of {name} {count}" for name, count in sorted(more.items()))]


def traced(build, trace, *command, **variables):
    """Writes all references of the program to a file, by valgrind's lackey. It prints its /proc/self/maps: returns where
    the library begins, where its code does and ends, and what it prints."""
    told = output("valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={trace}", *command,
                  env={"LD_PRELOAD": str(pathlib.Path(build).resolve() / "libpktmalloc.so"), "PATH": "/usr/bin:/bin",
                       **variables})
    code = re.search(r"^(\w+)-(\w+) r-xp (\w+) .*libpktmalloc\.so$", told, re.M).groups()
    low, high, offset = (int(number, 16) for number in code)
    return low - offset, low, high, told


def references(trace):
    """("I" for an instruction, else " ", address) of what traced() wrote, in order."""
    for line in trace.open():
        if line[0] in "I ":
            yield line[0], int(line[3:].split(",")[0], 16)


def trips(build):
    """Of calls that swap a magazine in the mail, and do nothing else, by valgrind's lackey: the most instructions, and
    the most lines of 64 bytes and pages of code and of data."""
    with tempfile.TemporaryDirectory() as folder:
        program, trace = pathlib.Path(folder) / "trips", pathlib.Path(folder) / "trace"
        output("g++", "-O1", "-fno-builtin", "-o", str(program), str(HERE / "trips.cpp"))
        _, low, high, told = traced(build, trace, str(program), PKTMALLOC_AGE="1h")
        begins = dict(zip((int(address, 16) for address in told.split()[-2:]), ("malloc", "free")))
        calls, code, data = {"malloc": [], "free": []}, None, None
        for kind, address in references(trace):
            if kind == " ":
                if code is not None:
                    data.append(address)
            elif address in begins:
                code, data = [address], []
                calls[begins[address]].append((code, data))
            elif code is not None and low <= address < high:
                code.append(address)
            else:
                code = None

    def most(addresses, shift=0):
        return max(len({address >> shift for address in it}) if shift else len(it) for it in addresses)
    lines = []
    for name, all_of_it in calls.items():
        mailed = [call for call in all_of_it if 100 < len(call[0]) < 250]
        code, data = ([call[n] for call in mailed] for n in (0, 1))
        lines.append(f"{name}: {most(code)} instructions, {most(code, 6)} lines and "
                     f"{most(code, 12)} pages of code, {most(data, 6)} and {most(data, 12)} of data")
    return lines


def crossings(build):
    """A line for every count of every play: arguments: count value, by 1000 calls."""
    counted = ((play, json.loads(output(f"{build}/bench/crossings", *play.split()))) for play in PLAYS)
    return [f"{play}: {name} {value}" for play, counts in counted for name, value in counts.items()]


def main(build, name, *options):
    found = {"symbols": symbols, "interface": interface, "needed": needed, "older": older, "start": start,
             "instructions": instructions, "trips": trips, "crossings": crossings}[name](build)
    golden = HERE / f"{name}.txt"
    if "--update" in options:
        golden.write_text("\n".join(found) + "\n")
        return 0
    expected = golden.read_text().splitlines()
    for line in difflib.unified_diff(expected, found, str(golden.name), "found", lineterm=""):
        print(line)
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

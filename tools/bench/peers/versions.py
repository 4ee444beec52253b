#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`versions.py FOLDER` writes FOLDER/versions.json: the version of every peer that was built.

The version is the allocator's own, as its sources say; the crate it was taken from follows in
brackets. FOLDER holds the libraries, and their sources in FOLDER/vendor.
"""
import json
import pathlib
import re
import sys


def find(pattern, path):
    return re.search(pattern, path.read_text(), re.MULTILINE).group(1)


def crate_number(crate):
    """0.7.1+5.3.1-0-g81034 -> 0.7.1 and 5.3.1-0-g81034."""
    number, _, taken_from = find(r'^version = "(.*)"', crate / "Cargo.toml").partition("+")
    return number, taken_from


def mimalloc(crate, line):
    number = int(find(r"^#define MI_MALLOC_VERSION\s+(\d+)",
                      crate / "c_src/mimalloc" / line / "include/mimalloc.h"))
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def jemalloc(crate):
    return crate_number(crate)[1].partition("-")[0]


def snmalloc(crate):
    return crate_number(crate)[0]  # released together, under the same number


def rpmalloc(crate):
    return find(r"\A(\S+)", crate / "rpmalloc/CHANGELOG") + "+" + crate_number(crate)[1]


PEERS = {
    "mimalloc2": ("libmimalloc-sys", lambda crate: mimalloc(crate, "v2")),
    "mimalloc3": ("libmimalloc-sys", lambda crate: mimalloc(crate, "v3")),
    "jemalloc-new": ("tikv-jemalloc-sys", jemalloc),
    "snmalloc": ("snmalloc-sys", snmalloc),
    "rpmalloc": ("rpmalloc-sys", rpmalloc),
}
PEERS |= {"mimalloc2-secure": PEERS["mimalloc2"], "mimalloc3-secure": PEERS["mimalloc3"],
          "snmalloc-checks": PEERS["snmalloc"]}


def main():
    folder = pathlib.Path(sys.argv[1])
    versions = {}
    for name, (crate_name, read_version) in PEERS.items():
        if (folder / f"lib{name}.so").exists():
            crate = folder / "vendor" / crate_name
            versions[name] = f"{read_version(crate)} ({crate_name} {crate_number(crate)[0]})"
    (folder / "versions.json").write_text(json.dumps(versions, indent=2) + "\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""The allocators of a run: glibc, the peers that are there, and pktmalloc."""
import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass

OWN = "pktmalloc"
GLIBC = "glibc"

# The packages of Debian 12 (tools/deps/deps.mk).
PACKAGED = {
    "jemalloc": ["libjemalloc.so.2"],
    "mimalloc": ["libmimalloc.so.2.0", "libmimalloc.so.2"],
    "tcmalloc": ["libtcmalloc_minimal.so.4"],
}
# What `make peers` builds.
NEWEST = ["jemalloc-new", "mimalloc2", "mimalloc3", "snmalloc", "rpmalloc"]
# Those of them that look for heap errors.
SECURE = ["mimalloc2-secure", "mimalloc3-secure", "snmalloc-checks"]
LIBRARY_FOLDERS = [f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib",
                   "/usr/local/lib"]


@dataclass
class Allocator:
    library: str  # "" for glibc: nothing is preloaded
    version: str

    @property
    def file(self):
        """The library's name, not where it lies on this machine."""
        return os.path.basename(self.library)


def is_peer(name):
    return name not in (GLIBC, OWN)


def say(text):
    print(text, file=sys.stderr)


def output_of(command, environment=None):
    """What the command prints on both streams; "" when it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def package_version(library):
    package = output_of(["dpkg", "-S", os.path.realpath(library)]).partition(":")[0]
    return output_of(["dpkg-query", "-W", "-f", "${Version}", package]) if package else ""


def own_version(library):
    environment = {**os.environ, "LD_PRELOAD": library, "PKTMALLOC_VERBOSE": "1"}
    words = output_of(["/bin/true"], environment).replace(":", " ").split()
    return next((word for word in words if word[0].isdigit()), "")


def packaged_peers(named):
    found = {}
    for name, files in PACKAGED.items():
        candidates = [os.path.join(folder, file) for file in files for folder in LIBRARY_FOLDERS]
        library = next((path for path in candidates if os.path.exists(path)), None)
        if library:
            found[name] = Allocator(library, package_version(library))
        elif name not in named:
            say(f"{name}: {files[0]} is not installed, skipped")
    return found


def built_version(library):
    """As `make peers` wrote it beside the libraries that it built."""
    try:
        with open(os.path.join(os.path.dirname(library), "versions.json")) as file:
            return json.load(file).get(os.path.basename(library)[len("lib"):-len(".so")], "")
    except (OSError, ValueError):
        return ""


def built_peers(folder, names, named):
    found = {}
    for name in names:
        library = os.path.join(folder, f"lib{name}.so")
        if os.path.exists(library):
            found[name] = Allocator(os.path.abspath(library), built_version(library))
        elif name not in named:
            say(f"{name}: not built, skipped (`make peers` builds it)")
    return found


def named_library(text):
    name, separator, path = text.partition("=")
    if not (name and separator and path) or name == GLIBC:
        raise argparse.ArgumentTypeError(f"expected name=path.so, not {text!r}")
    return name, path


def add_options(parser):
    """The options of which find_allocators makes the allocators."""
    parser.add_argument("--build", default="build", metavar="FOLDER",
                        help="with bench/, peers/ and libpktmalloc.so in it (default: %(default)s)")
    parser.add_argument("--allocator", type=named_library, action="append", default=[],
                        metavar="NAME=FILE", help="one more allocator, or another library for one "
                        "that is known; may be repeated")
    parser.add_argument("--newest", action="store_true",
                        help="with the peers that `make peers` builds")


def find_allocators(options):
    """Name -> Allocator in the order of the tables: glibc, peers, those of --allocator, pktmalloc.

    Those of --allocator go before those that are found. Ends the program when a library that was
    asked for is not there."""
    named = dict(options.allocator)
    allocators = {GLIBC: Allocator("", os.confstr("CS_GNU_LIBC_VERSION").split()[-1])}
    allocators.update(packaged_peers(named))
    if options.newest:
        allocators.update(built_peers(os.path.join(options.build, "peers"), NEWEST, named))
    named.setdefault(OWN, os.path.join(options.build, f"lib{OWN}.so"))
    for name, library in named.items():
        if not os.path.exists(library) or os.path.isdir(library):
            sys.exit(f"{name}: there is no library {library}"
                     + (" (`make` builds it)" if name == OWN else ""))
        library = os.path.abspath(library)
        version = (own_version(library) if name == OWN
                   else built_version(library) or package_version(library))
        allocators[name] = Allocator(library, version)
    allocators[OWN] = allocators.pop(OWN)  # the last column
    return allocators

# SPDX-License-Identifier: MIT
"""python -m pktmalloc app.py: becomes the interpreter again, under the library."""
import os
import sys

from . import library_path


def interpreter_options():
    """What stood between python and -m, where this Python tells."""
    words = getattr(sys, "orig_argv", [])[1:]
    ours = next((i for i, word in enumerate(words) if word.startswith("-m")), 0)
    return words[:ours]


def main():
    library = library_path()
    if " " in library or ":" in library:
        sys.exit(f"pktmalloc: {library} has a space or colon in its path, which LD_PRELOAD cannot express")
    others = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = f"{library}:{others}" if others else library
    os.environ["PYTHONMALLOC"] = "malloc"
    os.execv(sys.executable, [sys.executable, *interpreter_options(), *sys.argv[1:]])


main()

# SPDX-License-Identifier: MIT
"""The command pktmalloc: becomes the program of that name in this folder."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pktmalloc")
    os.execv(program, ["pktmalloc", *sys.argv[1:]])

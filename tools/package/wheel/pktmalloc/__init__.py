# SPDX-License-Identifier: MIT
"""pktmalloc for Python programs: its libraries, its command, and the statistics of this process.

    pktmalloc run -- python app.py      # the command
    python -m pktmalloc app.py          # an interpreter under the library, all of whose objects reach it
"""
import ctypes
import json
import os

_KINDS = {"": "libpktmalloc.so", "hardened": "libpktmalloc-hardened.so", "checked": "libpktmalloc-checked.so"}


def library_path(kind=""):
    """The shared library, for LD_PRELOAD: the normal one, "hardened" or "checked"."""
    if kind not in _KINDS:
        raise ValueError(f'there is no library "{kind}"; there are "", "hardened" and "checked"')
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), _KINDS[kind])


def statistics():
    """What PKTMALLOC_STATS would write of this process: a dict with "process", "classes" and more.

    RuntimeError where this process runs without the library.
    """
    try:
        write = ctypes.CDLL(None).pktmalloc_statistics_json
    except AttributeError:
        raise RuntimeError("pktmalloc is not in this process; start it by: python -m pktmalloc") from None
    write.restype = ctypes.c_size_t
    write.argtypes = ctypes.c_char_p, ctypes.c_size_t
    bytes_ = 1 << 16
    while True:
        buffer = ctypes.create_string_buffer(bytes_)
        wanted = write(buffer, bytes_)
        if wanted == 0:
            raise MemoryError("the system refuses memory for the statistics")
        if wanted < bytes_:
            return json.loads(buffer.value)
        bytes_ = 2 * wanted

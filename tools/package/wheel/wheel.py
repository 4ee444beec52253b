#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wheel.py VERSION TAG FOLDER BINARY...: writes the wheel into FOLDER: tools/package/wheel/pktmalloc and
the binaries beside it. Twice the same from the same files. The form is that of PEP 427."""
import base64
import hashlib
import pathlib
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def metadata(version):
    return f"""Metadata-Version: 2.1
Name: pktmalloc
Version: {version}
Summary: A malloc for programs that live on objects of a few fixed sizes
License: MIT
Requires-Python: >=3.8
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""


def tags(tag):
    return f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n"


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def main(version, tag, folder, *binaries):
    info = f"pktmalloc-{version}.dist-info"
    files = {f"pktmalloc/{path.name}": path.read_bytes()
             for path in sorted((HERE / "pktmalloc").glob("*.py")) + [pathlib.Path(name) for name in binaries]}
    files[f"{info}/LICENSE"] = (ROOT / "docs/LICENSE").read_bytes()
    files[f"{info}/METADATA"] = metadata(version).encode()
    files[f"{info}/WHEEL"] = tags(tag).encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\npktmalloc = pktmalloc.command:main\n"
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    programs = {f"pktmalloc/{pathlib.Path(name).name}" for name in binaries}
    target = pathlib.Path(folder) / f"pktmalloc-{version}-{tag}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            wheel.writestr(entry, data)
    print(target)


main(*sys.argv[1:])

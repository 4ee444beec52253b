#!/bin/sh
# SPDX-License-Identifier: MIT
# try.sh WHEEL PYTHON...: is the wheel small, and its tag true? Then with each Python, in a fresh virtual
# environment: installs, uses and removes it. auditwheel comes from PyPI.
# try.sh WHEEL --emulated ROOT: one for 64-bit ARM is unpacked, and used with the Python in ROOT.
set -eu
wheel=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed() { echo "try.sh: $*" >&2; exit 1; }

bytes=$(stat -c %s "$wheel")
test "$bytes" -le $((6 << 20)) || failed "the wheel has $bytes bytes, more than 6 MiB"
echo "$(basename "$wheel"): $bytes bytes"

python3 -m venv "$work/audit"
"$work/audit/bin/pip" install --quiet --disable-pip-version-check auditwheel
"$work/audit/bin/auditwheel" show "$wheel" > "$work/shown"
tag=$(basename "$wheel" .whl | sed 's/.*-//')
tr '\n' ' ' < "$work/shown" | grep -q "following platform tag: *\"$tag\"" ||
  { cat "$work/shown"; failed "auditwheel names another tag"; }

cat > "$work/app.py" <<'END'
import json, os, sys
import pktmalloc
held = [object() for _ in range(100_000)]
process = pktmalloc.statistics()["process"]
assert process["allocated_bytes"] > 1_000_000, process
assert os.environ["LD_PRELOAD"].startswith(pktmalloc.library_path())
print(sys.argv[1:], sys.flags.optimize)
END
if test "$1" = --emulated; then
  root=$2
  python3 -m zipfile -e "$wheel" "$work/wheel"
  emulated() { qemu-aarch64 -L "$root" -E PYTHONMALLOC=malloc -E PYTHONHOME="$root/usr" -E PYTHONPATH="$work/wheel" "$@"; }
  chmod +x "$work/wheel/pktmalloc/pktmalloc"
  emulated "$work/wheel/pktmalloc/pktmalloc" --version
  for kind in "" hardened checked; do
    library=$(emulated "$root/usr/bin/python3" -c "import pktmalloc; print(pktmalloc.library_path('$kind'))")
    emulated -E LD_PRELOAD="$library" "$root/usr/bin/python3" -c 'import pktmalloc
held = [object() for _ in range(10_000)]
assert pktmalloc.statistics()["process"]["allocated_bytes"] > 100_000'
    echo "emulated: $(basename "$library") serves $(emulated "$root/usr/bin/python3" --version)"
  done
  exit
fi

for python in "$@"; do
  rm -rf "$work/venv"
  "$python" -m venv "$work/venv"
  bin=$work/venv/bin
  find "$work/venv" | sort > "$work/before"
  "$bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
  version=$("$bin/python" -c 'import sys; print(sys.version.split()[0])')

  "$bin/pktmalloc" --version > "$work/out"
  "$bin/pktmalloc" run --stats -- "$bin/python" -c 'print(1)' > "$work/out" 2> "$work/err"
  grep -q 'in live objects' "$work/err"
  for kind in hardened checked; do
    "$bin/pktmalloc" run "--$kind" -- "$bin/python" -c "import pktmalloc; assert pktmalloc.library_path('$kind')"
  done
  "$bin/python" -m pktmalloc "$work/app.py" a "b c" > "$work/out"
  grep -qF "['a', 'b c'] 0" "$work/out" || failed "Python $version: $(cat "$work/out")"
  if "$bin/python" -c 'import sys; sys.exit(not hasattr(sys, "orig_argv"))'; then
    "$bin/python" -O -m pktmalloc "$work/app.py" > "$work/out"
    grep -qF "[] 1" "$work/out" || failed "Python $version loses its options"
  fi
  ! "$bin/python" -c 'import pktmalloc; pktmalloc.statistics()' 2> "$work/err"
  grep -q 'RuntimeError: pktmalloc is not in this process' "$work/err"

  "$bin/pip" uninstall --quiet --disable-pip-version-check --yes pktmalloc
  find "$work/venv" | grep -v __pycache__ | sort > "$work/after"
  grep -v __pycache__ "$work/before" | diff - "$work/after" || failed "Python $version: uninstall leaves files"
  echo "Python $version: installed, used and removed"
done

# pip refuses it for another C library and processor by itself.
for platform in musllinux_1_2_x86_64 manylinux_2_17_aarch64 macosx_11_0_arm64; do
  ! "$work/audit/bin/pip" download --quiet --no-index --no-deps --only-binary=:all: --platform "$platform" \
    --dest "$work/none" --find-links "$(dirname "$wheel")" pktmalloc 2> "$work/err" || failed "pip takes it for $platform"
  grep -q 'No matching distribution' "$work/err"
done
echo "other platforms: refused"

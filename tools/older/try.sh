#!/bin/sh
# SPDX-License-Identifier: MIT
# try.sh FOLDER RELEASE: runs programs of an older Debian under the libraries of FOLDER, and its command. Needs root and
# mmdebstrap.
set -eu
libraries=$(realpath "$1")
release=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mmdebstrap --quiet --variant=apt --include=python3-minimal,perl,gcc,libc6-dev "$release" "$root"
mkdir "$root/libraries"
cp "$libraries"/libpktmalloc*.so "$libraries"/pktmalloc "$root/libraries"
cp -r tests/programs "$root/programs"
cp preload/contract/pktmalloc.h "$root/programs"
cp tools/older/try_inside.sh tools/older/program_options.sh "$root"
unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" sh /try_inside.sh

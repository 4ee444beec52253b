#!/bin/sh
# SPDX-License-Identifier: MIT
# try.sh FOLDER RELEASE: installs the packages of FOLDER in a fresh Debian of that release, uses and
# removes them. Needs root and mmdebstrap.
set -eu
packages=$1
release=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mmdebstrap --quiet --variant=apt --include=g++,pkg-config,cmake,make,bash-completion "$release" "$root"
mkdir "$root/packages" "$root/source"
cp "$packages"/*.deb "$root/packages"
cp -r tests/examples "$root/source"
cp tools/package/try_inside.sh "$root"
unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" sh /try_inside.sh
echo "$release: the packages were installed, used and removed"

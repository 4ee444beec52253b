#!/bin/sh
# SPDX-License-Identifier: MIT
# try.sh FOLDER RELEASE: installs the packages of FOLDER in a fresh Debian of that release, uses and
# removes them. Needs root and mmdebstrap.
set -eu
packages=$1
release=$2
mmdebstrap --quiet --variant=apt --include=g++,pkg-config,cmake,make --format=null \
  --customize-hook='mkdir "$1/packages" "$1/source"' \
  --customize-hook="cp $packages/*.deb \"\$1/packages\"" \
  --customize-hook='cp -r tests/examples "$1/source"' \
  --customize-hook='cp tools/package/try_inside.sh "$1"' \
  --customize-hook='chroot "$1" sh /try_inside.sh' "$release" -
echo "$release: the packages were installed, used and removed"

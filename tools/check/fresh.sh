#!/bin/sh
# SPDX-License-Identifier: MIT
# fresh.sh "TARGET ...": makes these of what is committed, one after the other, in a fresh Debian 12
# with nothing but make, as a newcomer would. Needs root and mmdebstrap.
set -eu
mmdebstrap --quiet --variant=apt --include=ca-certificates,make --format=null \
  --customize-hook='git clone --quiet . "$1/pktmalloc"' \
  --customize-hook="for target in $1; do chroot \"\$1\" make -C /pktmalloc \$target || exit 1; done" bookworm -
echo "in a fresh Debian 12: make $1"

#!/bin/sh
# SPDX-License-Identifier: MIT
# root.sh ARCH ROOT "PACKAGE ...": makes a Debian 12 of another processor with these packages, and
# with kernels that boot it (run.sh). Needs root, mmdebstrap and qemu-user-static.
set -eu
case $1 in aarch64) debian=arm64 ;; *) echo "root.sh: $1 is unknown; accepted: aarch64" >&2; exit 2 ;; esac
mountpoint -q /proc/sys/fs/binfmt_misc || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
update-binfmts --import "qemu-$1"  # which its package leaves to be done in a container
rm -rf --one-file-system "$2.part"
mkdir -p "$(dirname "$2")"
# The kernel of larger pages comes from the backports, all else from Debian 12 itself.
mirror=http://deb.debian.org/debian
# In a mount space of its own: what it mounts in there ends with it, however that ends.
unshare --mount mmdebstrap --quiet --architectures=$debian --variant=minbase \
  --include="$(echo "$3" | tr ' ' ,)" \
  --essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"' \
  --essential-hook='printf "%s\n" MODULES=list COMPRESS=gzip > "$1/etc/initramfs-tools/conf.d/small"' \
  --essential-hook='printf "%s\n" 9p 9pnet_virtio virtio_pci > "$1/etc/initramfs-tools/modules"' \
  bookworm "$2.part" "deb $mirror bookworm main" "deb $mirror bookworm-backports main"
mv "$2.part" "$2"

#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh FOLDER NAME: makes the image from FOLDER/Containerfile, by buildah or podman.
set -eu
tool=$(command -v buildah || command -v podman) ||
  { echo "build.sh: neither buildah nor podman is installed; Debian has both" >&2; exit 1; }
"$tool" build --quiet --timestamp 0 --tag "$2" "$1"
"$tool" tag "$2" "${2%:*}:latest"
echo "$2: $(du --apparent-size -sk "$1/root" | cut -f 1) KiB of files"

#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh FOLDER NAME PROCESSOR: makes the image from FOLDER/Containerfile, by buildah or podman. Nothing in it runs
# meanwhile, so it may be for another processor.
set -eu
tool=$(command -v buildah || command -v podman) ||
  { echo "build.sh: neither buildah nor podman is installed; Debian has both" >&2; exit 1; }
case $3 in x86_64) platform=linux/amd64 ;; aarch64) platform=linux/arm64 ;; esac
"$tool" build --quiet --platform $platform --timestamp 0 --tag "$2" "$1"
"$tool" tag "$2" "${2%:*}:latest"
echo "$2: $(du --apparent-size -sk "$1/root" | cut -f 1) KiB of files"

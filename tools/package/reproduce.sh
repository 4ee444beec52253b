#!/bin/sh
# SPDX-License-Identifier: MIT
# reproduce.sh FOLDER: builds the packages again, in another place and at another time, and compares
# them with those in FOLDER.
set -eu
first=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar --create --exclude=./build --exclude=./.git . | tar --extract --directory="$work"
make --no-print-directory -C "$work" deb BUILD=build > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
for package in "$work"/build/deb/*.deb; do
  cmp "$package" "$first/$(basename "$package")"
done
echo "the packages are the same, built twice"

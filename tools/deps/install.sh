#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages named that are missing. As root or by sudo without a password;
# otherwise prints the one line to type and stops.
set -eu

missing=
for package in "$@"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

install="apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
  echo "installing:$missing"
  sh -c "$install"
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  echo "installing:$missing"
  sudo sh -c "$install"
else
  echo "Some packages are missing. Please run:" >&2
  echo "  sudo sh -c '$install'" >&2
  exit 1
fi

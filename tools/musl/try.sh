#!/bin/sh
# SPDX-License-Identifier: MIT
# try.sh FOLDER: runs programs of musl with the library in FOLDER, preloaded, linked, and linked with -static,
# in a root that has musl, a static busybox and nothing else: LD_PRELOAD in it reaches no program of glibc.
# They are built here, by musl-gcc; what cannot be built is left out.
set -eu
built=$(realpath "$1")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/bin" "$root/lib" "$root/dev" "$root/proc" "$root/tmp" "$root/plain" "$root/linked" "$root/static"
cp "$built/libpktmalloc.so" "$root/lib"
cp "$built/libpktmalloc.so" "$root/lib/libpktmalloc.so.0"
cp "/usr/lib/$(uname -m)-linux-musl/libc.so" "$root/lib/ld-musl-$(uname -m).so.1"
cp /bin/busybox "$root/bin"
for name in $(/bin/busybox --list); do ln -s busybox "$root/bin/$name" 2> /dev/null || true; done
cp tools/musl/try_inside.sh tools/older/program_options.sh "$root"

build() { musl-gcc -std=gnu17 -w -O1 -fno-builtin -pthread -Ipreload/contract "$1" -o "$root/$2" $3 2> /dev/null; }
for source in tests/programs/*.c; do
  name=$(basename "$source" .c)
  build "$source" "plain/$name" "" || continue
  build "$source" "linked/$name" "-L$built -Wl,--no-as-needed -lpktmalloc"
  build "$source" "static/$name" "-static -Wl,--whole-archive $built/libpktmalloc.a -Wl,--no-whole-archive"
done
unshare --map-root-user --mount --pid --fork --kill-child sh -c "
  mount -t proc proc '$root/proc' && mount --rbind /dev '$root/dev' && exec chroot '$root' /bin/sh /try_inside.sh"

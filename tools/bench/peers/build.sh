#!/bin/sh
# SPDX-License-Identifier: MIT
# `build.sh sources FOLDER` fetches the crates into FOLDER/vendor and marks that by FOLDER/sources.
# `build.sh PEER FOLDER` builds FOLDER/libPEER.so from them. What the tools say goes to FOLDER/*.log.
#
# Every peer is compiled as its authors compile the library to be preloaded: their switches, their
# level of optimisation, nothing tuned for this machine. A step that fails is told in one line on
# stderr, and no error: the other peers go on.
set -u
unset CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS # of our own build
exec 3>&2

step=$1
here=$(dirname "$0")
folder=$(cd "$2" && pwd) || exit
vendor=$folder/vendor
library=$folder/lib$step.so
log=$folder/$step.log
[ "$step" = sources ] && skipped=all || skipped=$step

skip() {
  echo "peers: $skipped skipped: $1" >&3
  exit 0
}

need() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
  done
}

fetch_sources() {
  cargo vendor --locked --manifest-path "$here/Cargo.toml" "$vendor" && touch "$folder/sources"
}

# As CMakeLists.txt does for the target `mimalloc`, but from static.c, which includes all the others:
# the crate leaves out what cmake needs.
build_mimalloc() {
  sources=$vendor/libmimalloc-sys/c_src/mimalloc/$1
  shift
  gcc -std=gnu11 -O3 -DNDEBUG -DMI_BUILD_RELEASE -DMI_MALLOC_OVERRIDE \
    -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT -fvisibility=hidden -ftls-model=initial-exec \
    -fno-builtin-malloc -fPIC -pthread -shared -Wl,-z,defs \
    "$@" -I"$sources/include" -I"$sources/src" "$sources/src/static.c" -o "$library.new"
}

# The version that configure demands is the one in the crate's number, behind the plus sign.
build_jemalloc() {
  crate=$vendor/tikv-jemalloc-sys
  version=$(sed -n 's/^version = ".*+\(.*\)"/\1/p' "$crate/Cargo.toml")
  rm -rf "$folder/jemalloc" && mkdir "$folder/jemalloc" && cd "$folder/jemalloc" &&
    sh "$crate/configure/configure" --srcdir="$crate/jemalloc" --with-version="$version" \
      --disable-doc CC=gcc CXX=g++ &&
    make -j"$(nproc)" build_lib_shared && cp lib/libjemalloc.so.2 "$library.new"
}

# The flags and definitions that cmake arrives at for the target `snmallocshim` on Linux with glibc.
build_snmalloc() {
  sources=$vendor/snmalloc-sys/upstream/src
  g++ -std=gnu++20 -O3 -DNDEBUG -fomit-frame-pointer -fno-rtti -mcx16 \
    -fvisibility=hidden -ftls-model=initial-exec -ffunction-sections -fPIC \
    -D'SNMALLOC_EXPORT=__attribute__((visibility("default")))' \
    -DSNMALLOC_CHECK_LOADS=false -DSNMALLOC_PAGEID=false \
    -DSNMALLOC_NO_REALLOCARR -DSNMALLOC_NO_REALLOCARRAY -DSNMALLOC_HAS_LINUX_FUTEX_H \
    -DSNMALLOC_HAS_LINUX_RANDOM_H -DSNMALLOC_PLATFORM_HAS_GETENTROPY \
    -DSNMALLOC_PTHREAD_ATFORK_WORKS -DSNMALLOC_USE_CXX11_THREAD_ATEXIT_DIRECT \
    -DSNMALLOC_USE_WAIT_ON_ADDRESS=1 "$@" -shared -static-libstdc++ -Wl,-z,defs -I"$sources" \
    "$sources/snmalloc/override/malloc.cc" "$sources/snmalloc/override/new.cc" -o "$library.new"
}

# As configure.py does for `rpmallocwrap`, less its -ffast-math: that changes nothing here but, at
# the link, would have the preloaded program round denormal numbers to zero.
build_rpmalloc() {
  gcc -std=c11 -O3 -DNDEBUG -funroll-loops -D_GNU_SOURCE=1 -DBUILD_DYNAMIC_LINK=1 \
    -DENABLE_PRELOAD=1 -DENABLE_OVERRIDE=1 -fPIC -pthread -shared -Wl,-z,defs \
    "$vendor/rpmalloc-sys/rpmalloc/rpmalloc/rpmalloc.c" -ldl -o "$library.new"
}

if [ "$step" = sources ]; then
  rm -f "$folder/sources" "$folder"/lib*.so
else
  [ -f "$folder/sources" ] || exit 0 # which has been told
  rm -f "$library" "$library.new"
fi
case $step in
  sources) need cargo && fetch_sources ;;
  mimalloc2) need gcc && build_mimalloc v2 ;;
  mimalloc3) need gcc && build_mimalloc v3 ;;
  jemalloc-new) need gcc g++ make && build_jemalloc ;;
  snmalloc) need g++ && build_snmalloc ;;
  mimalloc2-secure) need gcc && build_mimalloc v2 -DMI_SECURE=4 ;;
  mimalloc3-secure) need gcc && build_mimalloc v3 -DMI_SECURE=4 ;;
  snmalloc-checks) need g++ && build_snmalloc -DSNMALLOC_CHECK_CLIENT ;;
  rpmalloc) need gcc && build_rpmalloc ;;
  *) skip "there is no such peer" ;;
esac >"$log" 2>&1 ||
  skip "$(grep -m 1 -E 'error|not found' "$log" || tail -n 1 "$log") (see $log)"
[ "$step" = sources ] || mv "$library.new" "$library"

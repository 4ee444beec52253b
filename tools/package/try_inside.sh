# SPDX-License-Identifier: MIT
# What try.sh does inside the fresh system.
set -eu
export DEBIAN_FRONTEND=noninteractive
files() { find / -xdev -path /proc -prune -o -path /var -prune -o -path /etc/ld.so.cache -prune -o -print | sort; }

files > /before
apt-get install --yes --quiet=2 /packages/*.deb > /dev/null

# The command finds its library, and an unmodified program runs under it.
pktmalloc --version
pktmalloc doctor ls > /doctor || { cat /doctor; exit 1; }
pktmalloc run --stats ls / > /out 2> /statistics
grep -q bin /out
grep -q "in live objects" /statistics
pktmalloc run --hardened ls / > /out
pktmalloc run --checked ls / > /out
LD_PRELOAD=libpktmalloc.so.0 PKTMALLOC_VERBOSE=1 /bin/true 2>&1 | grep -q "pktmalloc: version"

# Programs are compiled with it, in three ways.
cd /source
gcc examples/example.c -o by_pkg_config $(pkg-config --cflags --libs pktmalloc)
./by_pkg_config
gcc examples/example.c -o by_archive $(pkg-config --cflags --libs pktmalloc-static)
./by_archive
cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(example CXX)
find_package(pktmalloc REQUIRED)
foreach(way pktmalloc static)
  add_executable(by_cmake_${way} examples/example.cpp)
  target_link_libraries(by_cmake_${way} pktmalloc::${way})
endforeach()
END
cmake -S . -B built > /dev/null
cmake --build built > /dev/null
built/by_cmake_pktmalloc
built/by_cmake_static
cd /
rm -rf /source/* /doctor /out /statistics

apt-get purge --yes --quiet=2 libpktmalloc0 libpktmalloc-dev pktmalloc libpktmalloc0-dbgsym pktmalloc-dbgsym > /dev/null
apt-get autoremove --purge --yes --quiet=2 > /dev/null
files > /after
diff /before /after | grep -v -e ' /before$' -e ' /after$' | grep pktmalloc && exit 1
exit 0

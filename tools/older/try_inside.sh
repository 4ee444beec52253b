# SPDX-License-Identifier: MIT
# What try.sh does inside the older system: interpreters, and the project's own programs, each without
# the library first: one that fails there tells nothing.
set -eu
ldd --version | head -n 1

for library in /libraries/*.so; do
  LD_PRELOAD=$library PKTMALLOC_VERBOSE=1 /bin/true 2>&1 | grep -q "pktmalloc: version"
  LD_PRELOAD=$library PKTMALLOC_STATS=/statistics.json \
    perl -e 'my %h; $h{$_} = "x" x ($_ % 900) for 1 .. 200000; exit(keys(%h) != 200000)'
  grep -q '"threads_seen"' /statistics.json
  LD_PRELOAD=$library python3 -c '
import threading
held = []
def work():
    for i in range(20000): held.append(bytes(i % 700))
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(held) == 160000'
done
echo "interpreters: passed"

/libraries/pktmalloc doctor perl
test "$(/libraries/pktmalloc run --hardened --stats=/statistics.json perl -e 'print "out"')" = out
/libraries/pktmalloc report /statistics.json | grep -q perl
/libraries/pktmalloc compare -n 5 --with pktmalloc,glibc perl -e '$h{$_} = $_ for 1 .. 5000' > /compared
grep -q pktmalloc /compared
/libraries/pktmalloc run --trace=/perl.trace.zst perl -e '$h{$_} = $_ for 1 .. 5000'
/libraries/pktmalloc replay /perl.trace.zst > /replayed
! /libraries/pktmalloc doctor /nowhere 2> /told
grep -q nowhere /told
echo "the command: passed"

mkdir /built
. /program_options.sh
passed=0
failed=""
for source in /programs/*.c; do
  name=$(basename "$source" .c)
  # There libc frees for a thread on a stack of its own after it has ended (docs/limits.md).
  [ "$name" != threads_that_never_allocate_leave_nothing ] || continue
  gcc -std=gnu11 -w -O1 -fno-builtin -pthread -I/programs "$source" -o "/built/$name" -ldl 2> /dev/null || continue
  timeout 60 "/built/$name" > /dev/null 2>&1 < /dev/null || continue
  if env $(options "$name") LD_PRELOAD=/libraries/libpktmalloc.so timeout 60 "/built/$name" > /dev/null 2> /told < /dev/null; then
    passed=$((passed + 1))
  else
    failed="$failed $name"
    sed "s/^/$name: /" /told
  fi
done
echo "programs: $passed passed; failed:${failed:- none}"
test -z "$failed"

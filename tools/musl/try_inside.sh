# SPDX-License-Identifier: MIT
# What try.sh does inside the root of musl: each program without the library first; one that fails there tells
# nothing.
set -eu
. /program_options.sh
run() { timeout 60 env "$@" > /told 2>&1 < /dev/null; }

run LD_PRELOAD=/lib/libpktmalloc.so PKTMALLOC_STATS=/statistics.json /plain/hello || test $? = 7 # which is its own
grep -q '"program": "hello"' /statistics.json

passed=0
failed=""
for program in /plain/*; do
  name=$(basename "$program")
  case $name in
    # docs/machines.md: what musl cannot give.
    fork_while_streams_are_used | background_thread_is_not_pinned) continue ;;
  esac
  run "$program" || continue
  for way in "LD_PRELOAD=/lib/libpktmalloc.so $program" "/linked/$name"; do
    if run $(options "$name") $way; then
      passed=$((passed + 1))
    else
      failed="$failed $name"
      sed "s/^/$name: /" /told
    fi
  done
done
echo "programs: $passed passed; failed:${failed:- none}"
test -z "$failed"

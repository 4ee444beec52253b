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
  ways="preloaded linked static"
  case $name in
    # docs/machines.md: what musl cannot give; docs/limits.md: what static programs cannot have.
    fork_while_streams_are_used | background_thread_is_not_pinned) continue ;;
    background_thread_serves_an_idle_single_thread | memory_goes_back_when_* | loader_walk_starts_no_thread | \
      random_sizes_fit_in_few_addresses) ways="preloaded linked" ;;
  esac
  run "$program" || continue
  for way in $ways; do
    case $way in
      preloaded) way="LD_PRELOAD=/lib/libpktmalloc.so $program" ;;
      *) way="/$way/$name" ;;
    esac
    if run $(options "$name") $way; then
      passed=$((passed + 1))
    else
      failed="$failed ${way##* }"
      sed "s/^/$name: /" /told
    fi
  done
done
echo "programs: $passed passed; failed:${failed:- none}"
test -z "$failed" && test "$passed" -ge 150 # most of them can be built

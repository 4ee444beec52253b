# SPDX-License-Identifier: MIT
# For tests/programs in another system: some need an option, as tests/programs_test.cpp has it.
options() {
  case $1 in
    background_thread_serves_*) echo PKTMALLOC_BACKGROUND=1 ;;
    locked_memory_does_not_wait) echo PKTMALLOC_BACKGROUND=1 PKTMALLOC_AGE=20ms ;;
    soft_limit_*) echo PKTMALLOC_SOFT_LIMIT=32MiB PKTMALLOC_AGE=1h ;;
    *) echo PKTMALLOC_VERBOSE=0 ;;
  esac
}

// SPDX-License-Identifier: MIT
// What programs that were linked with the library rely on: the types of its own functions, and of
// what they take. golden.py describes it to tests/golden/interface.txt.
#include <pktmalloc.h>

struct {
  __typeof__(&pktmalloc_version) version;
  __typeof__(&pktmalloc_trim) trim;
  __typeof__(&pktmalloc_reserve) reserve;
  __typeof__(&pktmalloc_class_bytes) class_bytes;
  __typeof__(&pktmalloc_allocate_batch) allocate_batch;
  __typeof__(&pktmalloc_release_batch) release_batch;
  __typeof__(&pktmalloc_get_statistics) get_statistics;
  __typeof__(&pktmalloc_statistics_json) statistics_json;
} interface;

// SPDX-License-Identifier: MIT
// The library's own functions, weak: null in a program that runs without it.
#pragma once

#include "pktmalloc.h"

#pragma weak pktmalloc_version
#pragma weak pktmalloc_trim
#pragma weak pktmalloc_reserve
#pragma weak pktmalloc_class_bytes
#pragma weak pktmalloc_allocate_batch
#pragma weak pktmalloc_release_batch
#pragma weak pktmalloc_get_statistics
#pragma weak pktmalloc_statistics_json

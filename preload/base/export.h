// SPDX-License-Identifier: MIT
// What makes a function visible outside the library, and a second name for one.
#pragma once

#define PKTMALLOC_EXPORT __attribute__((visibility("default")))
#define PKTMALLOC_ALIAS(function) \
  __attribute__((visibility("default"), alias(#function), copy(function)))

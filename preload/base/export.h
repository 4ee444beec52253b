// SPDX-License-Identifier: MIT
// Makes a function visible outside the library, or gives it a second name.
#pragma once

#define PKTMALLOC_EXPORT __attribute__((visibility("default")))
// On few pages, with what it calls.
#define PKTMALLOC_HOT PKTMALLOC_EXPORT __attribute__((hot))
#define PKTMALLOC_ALIAS(function) \
  __attribute__((visibility("default"), alias(#function), copy(function)))

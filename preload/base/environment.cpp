// SPDX-License-Identifier: MIT
#include "preload/base/environment.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

namespace pktmalloc {
namespace {

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr char kOption[] = "PKTMALLOC_";

bool begins_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

// Removes the entries with that file name from a list. True if any entry is left.
bool drop_entry(char* list, const char* name) {
  char* to = list;
  char* rest = list;
  while (char* entry = strsep(&rest, " :")) {
    if (*entry == '\0' || strcmp(basename(entry), name) == 0) continue;
    if (to != list) *to++ = ':';
    const size_t length = strlen(entry);
    memmove(to, entry, length);
    to += length;
  }
  *to = '\0';
  return to != list;
}

}  // namespace

void leave_environment() {
  Dl_info here;
  if (environ == nullptr) return;
  if (dladdr(reinterpret_cast<void*>(&leave_environment), &here) == 0) return;
  const char* const name = basename(here.dli_fname);
  char** to = environ;
  for (char** from = environ; *from != nullptr; ++from) {
    const bool stays = begins_with(*from, kPreload) ? drop_entry(*from + strlen(kPreload), name)
                                                    : !begins_with(*from, kOption);
    if (stays) *to++ = *from;
  }
  *to = nullptr;
}

}  // namespace pktmalloc

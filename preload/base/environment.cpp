// SPDX-License-Identifier: MIT
#include "preload/base/environment.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace pktmalloc {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kOption = "PKTMALLOC_";

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
    const std::string_view variable = *from;
    const bool stays = variable.starts_with(kPreload) ? drop_entry(*from + kPreload.size(), name)
                                                      : !variable.starts_with(kOption);
    if (stays) *to++ = *from;
  }
  *to = nullptr;
}

}  // namespace pktmalloc

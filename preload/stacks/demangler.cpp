// SPDX-License-Identifier: MIT
#include "preload/stacks/demangler.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pktmalloc {
namespace {

// A name of n bytes takes about 70 n; names longer than kMostBytes stay as they are.
constexpr size_t kMostBytes = 1000;

}  // namespace

Demangler::Demangler(bool on) {
  if (!on) return;
  constexpr const char* kRuntimes[] = {"libstdc++.so.6", "libc++abi.so.1"};
  for (const char* name : kRuntimes) {
    void* runtime = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (runtime == nullptr) continue;
    demangle_ = reinterpret_cast<decltype(demangle_)>(dlsym(runtime, "__cxa_demangle"));
    if (demangle_ != nullptr) return;
  }
}

void Demangler::write(const char* name, char* out, size_t bytes) const {
  char* text = nullptr;
  if (demangle_ != nullptr && strncmp(name, "_Z", 2) == 0 && strlen(name) <= kMostBytes) {
    text = demangle_(name, nullptr, nullptr, nullptr);
  }
  snprintf(out, bytes, "%s", text != nullptr ? text : name);
  free(text);
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "preload/stacks/demangler.h"

#include <dlfcn.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/stacks/address_map.h"

namespace pktmalloc {
namespace {

// A name of n bytes takes about 70 n; names longer than kMostBytes stay as they are.
constexpr size_t kMostBytes = 1000;
constexpr size_t kStackRoom = 128 << 10;

// A signal handler's own stack may be small and lie anywhere.
bool stack_has_room() {
  stack_t alternate;
  if (sigaltstack(nullptr, &alternate) != 0 || (alternate.ss_flags & SS_ONSTACK) != 0) return false;
  const uintptr_t here = reinterpret_cast<uintptr_t>(&alternate);
  Stretch stack;
  if (!find_stretch(here, stack)) return false;
  return stack.main_stack || here - stack.begin >= kStackRoom;
}

}  // namespace

Demangler::Demangler(bool on) {
  if (!on || !stack_has_room()) return;
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

// SPDX-License-Identifier: MIT
// The C++ exports: every replaceable operator new and delete.
//
// A failing operator new goes on to the C++ runtime's own function of the same name. That function
// calls malloc, which is ours and fails again, and then does what the standard demands: it calls
// the new-handler and retries, throws std::bad_alloc, or, for the nothrow forms, catches that and
// returns null. So the library needs no C++ runtime, and any runtime's exceptions fit. A runtime
// that is linked in statically lacks that function, since ours stands for it; then we do the same
// with what there is of it, but that nothing catches what a handler throws in a nothrow form.
#include <dlfcn.h>

#include <new>

#include <cstdlib>

#include "preload/base/export.h"
#include "preload/base/library_function.h"
#include "preload/base/message.h"
#include "preload/exports/front.h"
#include "sizeclass/base/rounding.h"

// Of a C++ runtime in the program itself: std::get_new_handler, and libstdc++'s function that
// throws.
extern "C" [[gnu::weak]] std::new_handler _ZSt15get_new_handlerv() noexcept;
extern "C" [[gnu::weak]] void _ZSt17__throw_bad_allocv();

namespace {

using namespace pktmalloc;

// The mangled names: plain or array, of any alignment or aligned, throwing or nothrow (Itanium C++
// ABI, 64-bit size_t).
constexpr const char* kNames[2][2][2] = {
    {{"_Znwm", "_ZnwmRKSt9nothrow_t"},
     {"_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t"}},
    {{"_Znam", "_ZnamRKSt9nothrow_t"},
     {"_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t"}}};
constexpr Family kPlain = Family::kNew, kArray = Family::kNewArray;

// What a form without memory does next: true: it tries again; else `result` is what it returns.
//
// In the C++ runtime itself first: another allocator after us may have an operator new that was
// built without exceptions and aborts instead of throwing (mimalloc). No jump: by the frame of this
// call the checked library knows who calls our functions from there. Nothrow: std::nothrow_t or
// nothing, depending on the form.
template <Family kFamily, typename... Nothrow, typename... Alignment>
bool tries_again(void*& result, size_t bytes, Alignment... alignment) {
  constexpr bool kThrows = sizeof...(Nothrow) == 0;
  const char* const name = kNames[kFamily == kArray][sizeof...(Alignment)][!kThrows];
  void* (*found)(size_t, Alignment..., const Nothrow&...) = nullptr;
  if (find_in_runtime(found, name) || find_function(found, RTLD_NEXT, name)) {
    result = found(bytes, alignment..., Nothrow{}...);
    asm volatile("" : "+r"(result));
    return false;
  }
  if (const auto handler = _ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : nullptr) {
    handler();
    return true;
  }
  if (!kThrows) return false;
  if (_ZSt17__throw_bad_allocv != nullptr) _ZSt17__throw_bad_allocv();
  message("out of memory in operator new, and no C++ runtime to throw std::bad_alloc");
  abort();
}

// Both allocate in their own frames, with nothing inlined between: by their names `pktmalloc` knows
// where a program's own calls begin.
template <Family kFamily, typename... Nothrow>
[[gnu::noinline]] void* new_slow(size_t bytes) {
  void* p;
  do p = front::allocate_slow(bytes, kFamily);
  while (p == nullptr && tries_again<kFamily, Nothrow...>(p, bytes));
  return p;
}

template <Family kFamily, typename... Nothrow>
void* new_aligned(size_t bytes, std::align_val_t alignment) {
  // libstdc++ rounds the size up to the alignment and ignores overflow, so it would accept a tiny
  // object; its plain forms refuse all sizes that malloc refuses.
  if (bytes > PTRDIFF_MAX) return new_slow<kFamily, Nothrow...>(bytes);
  const size_t a = static_cast<size_t>(alignment);
  void* p;
  do p = is_power_of_two(a) ? front::allocate_aligned(a, bytes, kFamily) : nullptr;
  while (p == nullptr && tries_again<kFamily, Nothrow...>(p, bytes, alignment));
  return p;
}

}  // namespace

// clang-format off
PKTMALLOC_HOT void* operator new(size_t n) { return front::allocate<new_slow<kPlain>>(n); }
PKTMALLOC_EXPORT void* operator new[](size_t n) { return front::allocate<new_slow<kArray>>(n); }
PKTMALLOC_EXPORT void* operator new(size_t n, const std::nothrow_t&) noexcept { return front::allocate<new_slow<kPlain, std::nothrow_t>>(n); }
PKTMALLOC_EXPORT void* operator new[](size_t n, const std::nothrow_t&) noexcept { return front::allocate<new_slow<kArray, std::nothrow_t>>(n); }
PKTMALLOC_EXPORT void* operator new(size_t n, std::align_val_t a) { return new_aligned<kPlain>(n, a); }
PKTMALLOC_EXPORT void* operator new[](size_t n, std::align_val_t a) { return new_aligned<kArray>(n, a); }
PKTMALLOC_EXPORT void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return new_aligned<kPlain, std::nothrow_t>(n, a); }
PKTMALLOC_EXPORT void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return new_aligned<kArray, std::nothrow_t>(n, a); }

PKTMALLOC_HOT void operator delete(void* p) noexcept { front::release(p, {Family::kNew}); }
PKTMALLOC_EXPORT void operator delete[](void* p) noexcept { front::release(p, {Family::kNewArray}); }
PKTMALLOC_HOT void operator delete(void* p, size_t n) noexcept { front::release(p, {Family::kNew, n}); }
PKTMALLOC_EXPORT void operator delete[](void* p, size_t n) noexcept { front::release(p, {Family::kNewArray, n}); }
PKTMALLOC_EXPORT void operator delete(void* p, const std::nothrow_t&) noexcept { front::release(p, {Family::kNew}); }
PKTMALLOC_EXPORT void operator delete[](void* p, const std::nothrow_t&) noexcept { front::release(p, {Family::kNewArray}); }
PKTMALLOC_EXPORT void operator delete(void* p, std::align_val_t a) noexcept { front::release(p, {Family::kNew, kUntold, static_cast<size_t>(a)}); }
PKTMALLOC_EXPORT void operator delete[](void* p, std::align_val_t a) noexcept { front::release(p, {Family::kNewArray, kUntold, static_cast<size_t>(a)}); }
PKTMALLOC_EXPORT void operator delete(void* p, size_t n, std::align_val_t a) noexcept { front::release(p, {Family::kNew, n, static_cast<size_t>(a)}); }
PKTMALLOC_EXPORT void operator delete[](void* p, size_t n, std::align_val_t a) noexcept { front::release(p, {Family::kNewArray, n, static_cast<size_t>(a)}); }
PKTMALLOC_EXPORT void operator delete(void* p, std::align_val_t a, const std::nothrow_t&) noexcept { front::release(p, {Family::kNew, kUntold, static_cast<size_t>(a)}); }
PKTMALLOC_EXPORT void operator delete[](void* p, std::align_val_t a, const std::nothrow_t&) noexcept { front::release(p, {Family::kNewArray, kUntold, static_cast<size_t>(a)}); }
// clang-format on

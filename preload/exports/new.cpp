// SPDX-License-Identifier: MIT
// The C++ exports: the replaceable operators new and delete, but for nothrow new: that of the C++
// runtime calls the usual form and catches what it throws, as the standard demands.
//
// A failing operator new goes on to the C++ runtime's own function of the same name. That function
// calls malloc, which is ours and fails again, and then does what the standard demands: it calls
// the new-handler and retries, or throws std::bad_alloc. So the library needs no C++ runtime, and
// any runtime's exceptions fit. A runtime that is linked in statically lacks that function, since
// ours stands for it; then we do the same with what there is of it.
//
// A program may have some forms itself, and by the standard the others call those: an array form
// the single one, a sized or nothrow delete the usual one.
#include <atomic>
#include <cstdlib>
#include <new>

#include "preload/base/export.h"
#include "preload/base/library_function.h"
#include "preload/base/message.h"
#include "preload/exports/front.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/base/arithmetic.h"

// Of a C++ runtime in the program itself: std::get_new_handler, and libstdc++'s function that
// throws.
extern "C" [[gnu::weak]] std::new_handler _ZSt15get_new_handlerv() noexcept;
extern "C" [[gnu::weak]] void _ZSt17__throw_bad_allocv();

namespace {

using namespace pktmalloc;

// The mangled names: plain or array, of any alignment or aligned (Itanium C++ ABI, 64-bit size_t).
constexpr const char* kNames[2][2] = {{"_Znwm", "_ZnwmSt11align_val_t"},
                                      {"_Znam", "_ZnamSt11align_val_t"}};
constexpr Family kPlain = Family::kNew, kArray = Family::kNewArray;

template <typename... Alignment>
bool are_ours() {
  void* (*const news[])(size_t, Alignment...) = {operator new, operator new[] };
  void (*const deletes[])(void*, Alignment...) noexcept = {operator delete, operator delete[] };
  const auto ours = [](auto* form) { return in_this_module(reinterpret_cast<uintptr_t>(form)); };
  return ours(news[0]) && ours(news[1]) && ours(deletes[0]) && ours(deletes[1]);
}

constinit std::atomic<signed char> known = 0;  // -1: not replaced, 1: replaced

[[gnu::cold, gnu::noinline]] bool look() {
  const bool ours = are_ours<>() && are_ours<std::align_val_t>();
  known.store(ours ? -1 : 1, std::memory_order_relaxed);
  return !ours;
}
// Has the program some of the forms that others call?
inline bool replaced() { return known.load(std::memory_order_relaxed) >= 0 && look(); }

// What a form without memory does next: true: it tries again; else `result` is what it returns.
//
// In the C++ runtime itself first: another allocator after us may have an operator new that was
// built without exceptions and aborts instead of throwing (mimalloc). No jump: by the frame of this
// call the checked library knows who calls our functions from there.
template <Family kFamily, typename... Alignment>
bool tries_again(void*& result, size_t bytes, Alignment... alignment) {
  void* (*found)(size_t, Alignment...) = nullptr;
  if (find_in_runtime(found, kNames[kFamily == kArray][sizeof...(Alignment)])) {
    result = found(bytes, alignment...);
    asm volatile("" : "+r"(result));
    return false;
  }
  if (const auto handler = _ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : nullptr) {
    handler();
    return true;
  }
  if (_ZSt17__throw_bad_allocv != nullptr) _ZSt17__throw_bad_allocv();
  message("out of memory in operator new, and no C++ runtime to throw std::bad_alloc");
  abort();
}

// Both allocate in their own frames, with nothing inlined between: by their names `pktmalloc` knows
// where a program's own calls begin.
template <Family kFamily>
[[gnu::noinline]] void* new_slow(size_t bytes) {
  void* p;
  do p = front::allocate_slow(bytes, kFamily);
  while (p == nullptr && tries_again<kFamily>(p, bytes));
  return p;
}

template <Family kFamily>
void* new_aligned(size_t bytes, std::align_val_t alignment) {
  // libstdc++ rounds the size up to the alignment and ignores overflow, so it would accept a tiny
  // object; its plain forms refuse all sizes that malloc refuses.
  if (bytes > PTRDIFF_MAX) return new_slow<kFamily>(bytes);
  const size_t a = static_cast<size_t>(alignment);
  void* p;
  do p = is_power_of_two(a) ? front::allocate_aligned(a, bytes, kFamily) : nullptr;
  while (p == nullptr && tries_again<kFamily>(p, bytes, alignment));
  return p;
}

// Of a form that is derived from the usual one of the base's family.
template <Family kBase, typename... Alignment>
[[gnu::always_inline]] inline void release(const Told& told, void* p, Alignment... alignment) {
  if (!replaced()) return front::release(p, told);
  kBase == kArray ? operator delete[](p, alignment...) : operator delete(p, alignment...);
}

}  // namespace

// clang-format off
PKTMALLOC_HOT void* operator new(size_t n) { return front::allocate<new_slow<kPlain>>(n); }
PKTMALLOC_EXPORT void* operator new[](size_t n) { return replaced() ? operator new(n) : front::allocate<new_slow<kArray>>(n); }
PKTMALLOC_EXPORT void* operator new(size_t n, std::align_val_t a) { return new_aligned<kPlain>(n, a); }
PKTMALLOC_EXPORT void* operator new[](size_t n, std::align_val_t a) { return replaced() ? operator new(n, a) : new_aligned<kArray>(n, a); }

PKTMALLOC_HOT void operator delete(void* p) noexcept { front::release(p, {kPlain}); }
PKTMALLOC_EXPORT void operator delete[](void* p) noexcept { release<kPlain>({kArray}, p); }
PKTMALLOC_HOT void operator delete(void* p, size_t n) noexcept { release<kPlain>({kPlain, n}, p); }
PKTMALLOC_EXPORT void operator delete[](void* p, size_t n) noexcept { release<kArray>({kArray, n}, p); }
PKTMALLOC_EXPORT void operator delete(void* p, const std::nothrow_t&) noexcept { release<kPlain>({kPlain}, p); }
PKTMALLOC_EXPORT void operator delete[](void* p, const std::nothrow_t&) noexcept { release<kArray>({kArray}, p); }
PKTMALLOC_EXPORT void operator delete(void* p, std::align_val_t a) noexcept { front::release(p, {kPlain, kUntold, static_cast<size_t>(a)}); }
PKTMALLOC_EXPORT void operator delete[](void* p, std::align_val_t a) noexcept { release<kPlain>({kArray, kUntold, static_cast<size_t>(a)}, p, a); }
PKTMALLOC_EXPORT void operator delete(void* p, size_t n, std::align_val_t a) noexcept { release<kPlain>({kPlain, n, static_cast<size_t>(a)}, p, a); }
PKTMALLOC_EXPORT void operator delete[](void* p, size_t n, std::align_val_t a) noexcept { release<kArray>({kArray, n, static_cast<size_t>(a)}, p, a); }
PKTMALLOC_EXPORT void operator delete(void* p, std::align_val_t a, const std::nothrow_t&) noexcept { release<kPlain>({kPlain, kUntold, static_cast<size_t>(a)}, p, a); }
PKTMALLOC_EXPORT void operator delete[](void* p, std::align_val_t a, const std::nothrow_t&) noexcept { release<kArray>({kArray, kUntold, static_cast<size_t>(a)}, p, a); }
// clang-format on

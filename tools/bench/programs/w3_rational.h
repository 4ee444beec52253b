// SPDX-License-Identifier: MIT
// W3: the small rational, two ints, and the eight ways in which the workload allocates it.
//
// A variant is a class that adds nothing to Rational but operators new and delete; kVariants lists
// them all. One round is make_all, then delete_all, on an array of kObjects pointers. One thread.
#pragma once

#include <vector>

#include "preload/contract/pktmalloc.hpp"
#include "w3_pools.h"
#include "workload.h"

namespace w3 {

constexpr std::size_t kObjects = 5'000;

struct Rational {
  Rational(int n, int d) : numerator(n), denominator(d) {}
  int numerator;
  int denominator;
};
using Rationals = std::vector<Rational*>;

// The class has its own free list, which grows by 32 objects at a time.
struct ListedRational : Rational {
  using Rational::Rational;
  static void* operator new(std::size_t bytes) {
    if (free_list.empty()) free_list.grow(bytes);
    return free_list.pop();
  }
  static void operator delete(void* object) { free_list.push(object); }
  static inline FreeObjects free_list;
};

// The class has the operators of pktmalloc.hpp.
struct HeaderRational : Rational, pktmalloc::pooled<HeaderRational> {
  using Rational::Rational;
};
static_assert(sizeof(HeaderRational) == sizeof(Rational));

template <auto& pool>
struct PooledRational : Rational {
  using Rational::Rational;
  static void* operator new(std::size_t bytes) { return pool.take(bytes); }
  static void operator delete(void* object, std::size_t bytes) { pool.give(object, bytes); }
};

inline constinit TemplatePool<Rational> template_pool;
inline constinit PlainPool plain_pool(sizeof(Rational));
inline constinit VariablePool variable_pool;
inline constinit LockingPool<TemplatePool<Rational>> locking_pool;
inline constinit ConstantPool<sizeof(Rational), kObjects> constant_pool;

template <typename T>
void make_all(Rationals& objects) {
  int number = 0;
  for (Rational*& object : objects) {
    object = new T(number, number + 1);
    workload::keep(object);
    ++number;
  }
}

template <typename T>
void delete_all(Rationals& objects) {
  for (Rational* object : objects) delete static_cast<T*>(object);
}

struct Variant {
  const char* name;
  void (*make_all)(Rationals&);
  void (*delete_all)(Rationals&);
};

template <typename T>
constexpr Variant variant(const char* name) {
  return {name, make_all<T>, delete_all<T>};
}

constexpr Variant kVariants[] = {
    variant<Rational>("new_delete"),
    variant<ListedRational>("free_list"),
    variant<PooledRational<template_pool>>("template_pool"),
    variant<PooledRational<plain_pool>>("plain_pool"),
    variant<PooledRational<variable_pool>>("variable_pool"),
    variant<PooledRational<locking_pool>>("locking_pool"),
    variant<PooledRational<constant_pool>>("constant_pool"),
    variant<HeaderRational>("header"),
};

}  // namespace w3

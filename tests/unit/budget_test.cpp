// SPDX-License-Identifier: MIT
#include "sizeclass/heap/budget.h"

#include <catch2/catch.hpp>

using pktmalloc::Budget;

namespace {

constexpr Budget::Income kIncome{.per_ms = 10, .most = 1000};
constexpr uint64_t kEver = ~uint64_t{0};

// How much can be spent until there is nothing left.
int64_t left(Budget budget) {
  int64_t spent = 0;
  for (; budget.any(); ++spent) budget.spend(1);
  return spent;
}

}  // namespace

TEST_CASE("a budget begins empty and grows with time until it is full") {
  Budget budget;
  CHECK_FALSE(budget.any());
  budget.earn(kIncome, 0);
  CHECK_FALSE(budget.any());
  budget.earn(kIncome, 7);
  CHECK(left(budget) == 70);
  budget.earn(kIncome, 92);
  CHECK(left(budget) == 990);
  budget.earn(kIncome, 2);
  CHECK(left(budget) == 1000);
  budget.earn(kIncome, kEver);
  CHECK(left(budget) == 1000);
}

TEST_CASE("time pays what was overdrawn before anything can be spent") {
  Budget budget;
  budget.earn(kIncome, 1);
  budget.spend(1010);
  budget.earn(kIncome, 100);
  CHECK_FALSE(budget.any());
  budget.earn(kIncome, 1);
  CHECK(left(budget) == 10);
}

TEST_CASE("however great the debt, for ever pays it") {
  Budget budget;
  budget.spend(int64_t{1} << 60);
  budget.earn(kIncome, kEver);
  CHECK(left(budget) == 1000);
}

// SPDX-License-Identifier: MIT
// W6 cfrac: factors a number by its root's continued fraction, after Morrison and Brillhart. One
// thread.
//
// `w6_cfrac [NUMBER]`: NUMBER is a composite in decimal, not a square, of 16 to 40 digits; the
// default has 27. Every natural number that occurs, each intermediate result included, is an object
// of its own of 16 to 52 bytes, and most of them live for one operation. The factor that is found
// times its cofactor must give NUMBER again. "ms" is the whole time.
#include <algorithm>
#include <bit>
#include <compare>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

// A natural number. Its object holds the count of limbs, then the limbs, the lowest first; the
// highest is not zero.
class Natural {
 public:
  Natural(std::uint64_t value) : Natural(Limbs{2}) {
    set(0, value);
    set(1, value >> 32);
    trim();
  }
  Natural(const Natural& other) : Natural(Limbs{other.length()}) {
    std::memcpy(limbs(), other.limbs(), length() * sizeof(std::uint32_t));
  }
  Natural(Natural&& other) noexcept : length_(std::exchange(other.length_, nullptr)) {}
  Natural& operator=(Natural other) noexcept {
    std::swap(length_, other.length_);
    return *this;
  }
  ~Natural() { std::free(length_); }

  // The low 64 bits.
  std::uint64_t low() const { return at(0) | at(1) << 32; }

  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b) {
    for (std::size_t i = std::max(a.length(), b.length()); i-- > 0;)
      if (a.at(i) != b.at(i)) return a.at(i) <=> b.at(i);
    return std::strong_ordering::equal;
  }
  friend bool operator==(const Natural& a, const Natural& b) { return a <=> b == 0; }

  friend Natural operator+(const Natural& a, const Natural& b) {
    Natural sum(Limbs{std::max(a.length(), b.length()) + 1});
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < sum.length(); ++i, carry >>= 32)
      sum.set(i, carry += a.at(i) + b.at(i));
    return sum.trim();
  }

  // a is not below b.
  friend Natural operator-(const Natural& a, const Natural& b) {
    Natural difference(Limbs{a.length()});
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < a.length(); ++i) {
      std::uint64_t limb = a.at(i) - b.at(i) - borrow;
      difference.set(i, limb);
      borrow = limb >> 63;
    }
    return difference.trim();
  }

  friend Natural operator*(const Natural& a, const Natural& b) {
    Natural product(Limbs{a.length() + b.length()});
    std::fill_n(product.limbs(), product.length(), 0);
    for (std::size_t i = 0; i < a.length(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j <= b.length(); ++j, carry >>= 32)
        product.set(i + j, carry += a.at(i) * b.at(j) + product.at(i + j));
    }
    return product.trim();
  }

  friend Natural operator/(const Natural& a, const Natural& b) { return divide(a, b).first; }
  friend Natural operator%(const Natural& a, const Natural& b) { return divide(a, b).second; }

  // Quotient and remainder; the divisor is not zero. The schoolbook method: with both shifted so
  // that the divisor's highest bit is set, a limb of the quotient that is estimated from the two
  // highest limbs of the rest is at most 2 too large (Knuth, volume 2, 4.3.1, theorem B).
  friend std::pair<Natural, Natural> divide(const Natural& dividend, const Natural& divisor) {
    if (dividend < divisor) return {0, dividend};
    std::size_t n = divisor.length();
    int shift = std::countl_zero(divisor.limbs()[n - 1]);
    Natural rest = dividend.shifted_left(shift, dividend.length() + 1);
    Natural shifted = divisor.shifted_left(shift, n);
    Natural quotient(Limbs{dividend.length() + 1 - n});
    for (std::size_t place = quotient.length(); place-- > 0;) {
      std::uint64_t high = rest.at(place + n) << 32 | rest.at(place + n - 1);
      std::uint64_t limb = std::min<std::uint64_t>(high / shifted.at(n - 1), UINT32_MAX);
      for (std::int64_t borrow = rest.subtract(shifted, limb, place); borrow < 0; --limb)
        borrow += rest.add(shifted, place);
      quotient.set(place, limb);
    }
    rest.trim();
    Natural remainder(Limbs{n});
    for (std::size_t i = 0; i < n; ++i)
      remainder.set(i, (rest.at(i) | rest.at(i + 1) << 32) >> shift);
    return {std::move(quotient.trim()), std::move(remainder.trim())};
  }

 private:
  struct Limbs {
    std::size_t count;
  };

  // With limbs that have yet to be set. Never of less than two limbs.
  explicit Natural(Limbs limbs)
      : length_(static_cast<std::size_t*>(std::malloc(
            sizeof(std::size_t) + std::max<std::size_t>(limbs.count, 2) * sizeof(std::uint32_t)))) {
    *length_ = limbs.count;
  }

  Natural& trim() {
    while (length() > 0 && at(length() - 1) == 0) --*length_;
    return *this;
  }

  std::size_t length() const { return *length_; }
  std::uint32_t* limbs() const { return reinterpret_cast<std::uint32_t*>(length_ + 1); }
  std::uint64_t at(std::size_t place) const { return place < length() ? limbs()[place] : 0; }
  void set(std::size_t place, std::uint64_t value) {
    limbs()[place] = static_cast<std::uint32_t>(value);
  }

  Natural shifted_left(int bits, std::size_t length) const {
    Natural shifted(Limbs{length});
    for (std::size_t i = 0; i < length; ++i)
      shifted.set(i, (at(i) << 32 | (i > 0 ? at(i - 1) : 0)) << bits >> 32);
    return shifted;
  }

  // Subtracts factor times the other from the limbs at that place. Returns what was borrowed, 0 or
  // negative, from beyond them.
  std::int64_t subtract(const Natural& other, std::uint64_t factor, std::size_t place) {
    std::uint64_t product = 0;
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i <= other.length(); ++i, product >>= 32, borrow >>= 32) {
      product += factor * other.at(i);
      borrow += static_cast<std::int64_t>(at(place + i)) - static_cast<std::uint32_t>(product);
      set(place + i, static_cast<std::uint64_t>(borrow));
    }
    return borrow;
  }

  // Adds the other to the limbs at that place. Returns what is carried beyond them, 0 or 1.
  std::int64_t add(const Natural& other, std::size_t place) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i <= other.length(); ++i, carry >>= 32)
      set(place + i, carry += at(place + i) + other.at(i));
    return static_cast<std::int64_t>(carry);
  }

  std::size_t* length_;  // begins the object
};

Natural parse(std::string_view digits) {
  Natural number = 0;
  for (char digit : digits) number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  return number;
}

// The largest number whose square is not above that one: Newton's method from above.
Natural square_root(const Natural& number) {
  Natural root = number;
  for (Natural next = root / 2 + 1; next < root; next = (root + number / root) / 2) root = next;
  return root;
}

Natural common_divisor(Natural a, Natural b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// -1, written as 1, then 2 and the primes modulo which the number is a square: no others can occur
// in a relation.
std::vector<std::uint32_t> make_base(const Natural& number, std::size_t count) {
  std::vector<std::uint32_t> primes = {2}, base = {1, 2};
  for (std::uint32_t candidate = 3; base.size() < count; candidate += 2) {
    if (std::ranges::any_of(primes, [&](std::uint32_t p) { return candidate % p == 0; })) continue;
    primes.push_back(candidate);
    std::uint64_t residue = (number % candidate).low(), power = 1;
    for (std::uint32_t i = 0; i < candidate / 2; ++i) power = power * residue % candidate;
    if (power <= 1) base.push_back(candidate);
  }
  return base;
}

// left * left = right * right * (the product of those in the base that are odd), modulo the number.
struct Relation {
  Natural left, right = 1;
  std::vector<bool> odd;

  // Multiplies the right side by one of the base.
  void multiply(std::size_t index, std::uint32_t prime, const Natural& number) {
    if (odd[index]) right = right * prime % number;
    odd[index] = !odd[index];
  }
};

struct Problem {
  const Natural number;
  const std::vector<std::uint32_t> base;
};

// Divides by the base as often as it goes. True when nothing is left.
bool is_smooth(Natural rest, const Problem& problem, Relation& relation) {
  for (std::size_t i = 1; i < problem.base.size(); ++i) {
    for (;;) {
      auto [quotient, remainder] = divide(rest, problem.base[i]);
      if (remainder != 0) break;
      rest = std::move(quotient);
      relation.multiply(i, problem.base[i], problem.number);
    }
  }
  return rest == 1;
}

// Expands the root's continued fraction until there are so many relations, or its period ends.
std::vector<Relation> find_relations(const Problem& problem, std::size_t count) {
  const Natural& number = problem.number;
  const Natural root = square_root(number);
  Natural p = root, q = number - root * root;
  Natural previous = 1, convergent = root;  // numerators, modulo the number
  std::vector<Relation> relations;
  for (bool is_negative = true; q != 1 && relations.size() < count; is_negative = !is_negative) {
    Relation relation{convergent, 1, std::vector<bool>(problem.base.size())};
    relation.odd[0] = is_negative;
    if (is_smooth(q, problem, relation)) relations.push_back(std::move(relation));
    Natural term = (root + p) / q;
    p = term * q - p;
    q = (number - p * p) / q;
    previous = std::exchange(convergent, (term * convergent + previous) % number);
  }
  return relations;
}

// Gauss's elimination of what is odd. Returns 1 when the relations that remain give no factor.
Natural find_factor(std::vector<Relation> relations, const Problem& problem) {
  for (std::size_t column = 0; column < problem.base.size(); ++column) {
    auto is_odd = [column](const Relation& relation) { return relation.odd[column]; };
    auto pivot = std::ranges::find_if(relations, is_odd);
    if (pivot == relations.end()) continue;
    std::swap(*pivot, relations.back());
    Relation eliminated = std::move(relations.back());
    relations.pop_back();
    for (Relation& relation : relations) {
      if (!is_odd(relation)) continue;
      relation.left = relation.left * eliminated.left % problem.number;
      relation.right = relation.right * eliminated.right % problem.number;
      for (std::size_t i = 0; i < problem.base.size(); ++i)
        if (eliminated.odd[i]) relation.multiply(i, problem.base[i], problem.number);
    }
  }
  for (const Relation& relation : relations) {
    Natural factor = common_divisor(relation.left + relation.right, problem.number);
    if (factor != 1 && factor != problem.number) return factor;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_cfrac [NUMBER], a composite of 16 to 40 digits, not a square";
  std::string_view digits = argc > 1 ? argv[1] : "853973422269143962071642661";
  if (digits.size() < 16 || digits.size() > 40) workload::usage(usage);
  if (digits.find_first_not_of("0123456789") != digits.npos) workload::usage(usage);

  workload::Stopwatch stopwatch;
  Natural number = parse(digits);
  Natural root = square_root(number);
  if (root * root == number) workload::usage(usage);
  std::size_t base_size = digits.size() * digits.size() / 8;  // near the fastest
  Problem problem{number, make_base(number, base_size)};
  Natural factor = find_factor(find_relations(problem, base_size + 16), problem);
  bool found = factor != 1 && factor * (number / factor) == number;
  double ms = stopwatch.elapsed_ms();
  if (!found) workload::fail("no factor of %s found", digits.data());
  workload::print_json(argc, argv, {{"ms", ms}});
}

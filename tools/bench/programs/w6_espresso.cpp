// SPDX-License-Identifier: MIT
// W6 espresso: minimises Boolean functions of two levels, after Brayton's program. One thread.
//
// `w6_espresso [FUNCTIONS [CUBES]]`: each of FUNCTIONS random functions of 20 to 200 variables, of
// which 14 occur, is the union of CUBES cubes of up to 7 literals. It is complemented by recursive
// splitting, the complement again; the cubes of that are expanded as far as possible, and redundant
// ones are left out. A cube is a bit set of 8 to 56 bytes in an object of its own; a cover is an
// array of pointers to cubes, grown by realloc, and frees all of its cubes at once. In 200 points
// the function and its minimised form must agree, and the complement must differ. "ms" is the whole
// time.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr std::uint32_t kOccurring = 14;

// A cube has two bits for each variable: may it be 0, may it be 1. With both set the variable does
// not matter; a literal is a bit that is not set.
using Word = std::uint64_t;
constexpr std::size_t kVariablesOfWord = 32;
constexpr Word kFirstBits = 0x5555555555555555;

bool has_bit(const Word* cube, std::size_t bit) { return cube[bit / 64] >> bit % 64 & 1; }
void set_bit(Word* cube, std::size_t bit) { cube[bit / 64] |= Word{1} << bit % 64; }
void clear_bit(Word* cube, std::size_t bit) { cube[bit / 64] &= ~(Word{1} << bit % 64); }

// A union of cubes, which it owns, all of the same length in words.
class Cover {
 public:
  explicit Cover(std::size_t words) : words_(words) {}
  Cover(Cover&& other) noexcept
      : words_(other.words_),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        cubes_(std::exchange(other.cubes_, nullptr)) {}
  ~Cover() {
    for (Word* cube : *this) std::free(cube);
    std::free(cubes_);
  }

  Word** begin() const { return cubes_; }
  Word** end() const { return cubes_ + size_; }
  std::size_t size() const { return size_; }
  std::size_t words() const { return words_; }

  Word* add_universe() {
    Word* cube = static_cast<Word*>(std::malloc(words_ * sizeof(Word)));
    std::fill_n(cube, words_, ~Word{0});
    return adopt(cube);
  }

  Word* add_copy(const Word* other) {
    Word* cube = static_cast<Word*>(std::malloc(words_ * sizeof(Word)));
    std::memcpy(cube, other, words_ * sizeof(Word));
    return adopt(cube);
  }

  // The last cube takes the place.
  void remove(std::size_t place) {
    std::free(std::exchange(cubes_[place], cubes_[size_ - 1]));
    --size_;
  }

  bool is_universe(const Word* cube) const {
    return std::all_of(cube, cube + words_, [](Word word) { return word == ~Word{0}; });
  }
  bool is_within(const Word* inner, const Word* outer) const {
    for (std::size_t i = 0; i < words_; ++i)
      if (inner[i] & ~outer[i]) return false;
    return true;
  }
  bool is_equal(const Word* a, const Word* b) const { return std::equal(a, a + words_, b); }
  bool meets(const Word* a, const Word* b) const {
    for (std::size_t i = 0; i < words_; ++i) {
      Word both = a[i] & b[i];
      if (((both | both >> 1) & kFirstBits) != kFirstBits) return false;
    }
    return true;
  }

  bool any_meets(const Word* cube) const {
    return std::any_of(begin(), end(), [&](const Word* own) { return meets(own, cube); });
  }
  bool any_contains(const Word* cube) const {
    return std::any_of(begin(), end(), [&](const Word* own) { return is_within(cube, own); });
  }
  bool has_universe() const {
    return std::any_of(begin(), end(), [&](const Word* own) { return is_universe(own); });
  }

 private:
  Word* adopt(Word* cube) {
    if (size_ == capacity_) {
      capacity_ = std::max<std::size_t>(4, capacity_ * 2);
      cubes_ = static_cast<Word**>(std::realloc(cubes_, capacity_ * sizeof(Word*)));
    }
    return cubes_[size_++] = cube;
  }

  std::size_t words_;
  std::size_t size_ = 0, capacity_ = 0;
  Word** cubes_ = nullptr;
};

// Calls act(bit) for every literal.
template <typename Act>
void for_literals(const Word* cube, std::size_t words, Act act) {
  for (std::size_t i = 0; i < words; ++i)
    for (Word literals = ~cube[i]; literals != 0; literals &= literals - 1)
      act(i * 64 + static_cast<std::size_t>(std::countr_zero(literals)));
}

// What the cover is where the variable of that bit has the bit's value.
Cover cofactor(const Cover& cover, std::size_t bit) {
  Cover result(cover.words());
  for (const Word* cube : cover)
    if (has_bit(cube, bit)) set_bit(result.add_copy(cube), bit ^ 1);
  return result;
}

// What the others in the cover are within that cube of it.
Cover cofactor_of_others(const Cover& cover, const Word* cube) {
  Cover result(cover.words());
  for (const Word* other : cover) {
    if (other == cube || !cover.meets(other, cube)) continue;
    Word* copy = result.add_copy(other);
    for (std::size_t i = 0; i < cover.words(); ++i) copy[i] |= ~cube[i];
  }
  return result;
}

struct Split {
  std::size_t bit;  // of the variable, for value 0
  bool is_binate;   // there are literals of both values
};

// The variable with the most literals, one with both kinds before all others.
Split choose_split(const Cover& cover) {
  std::vector<std::uint32_t> counts(cover.words() * 64);
  for (const Word* cube : cover)
    for_literals(cube, cover.words(), [&](std::size_t bit) { ++counts[bit]; });
  auto rank = [&](std::size_t bit) {
    std::uint32_t zero = counts[bit], one = counts[bit + 1];
    return std::pair(zero > 0 && one > 0, zero + one);
  };
  std::size_t best = 0;
  for (std::size_t bit = 2; bit < counts.size(); bit += 2)
    if (rank(bit) > rank(best)) best = bit;
  return {best, rank(best).first};
}

// By Shannon's expansion. A cube of one half that lies in one of the other half is in both.
Cover complement(const Cover& cover) {
  Cover result(cover.words());
  if (cover.has_universe()) return result;
  if (cover.size() == 0) {
    result.add_universe();
  } else if (cover.size() == 1) {
    for_literals(*cover.begin(), cover.words(),
                 [&](std::size_t bit) { clear_bit(result.add_universe(), bit ^ 1); });
  } else {
    std::size_t bit = choose_split(cover).bit;
    Cover zero = complement(cofactor(cover, bit));
    Cover one = complement(cofactor(cover, bit + 1));
    for (const Word* cube : zero) {
      Word* copy = result.add_copy(cube);
      if (!one.any_contains(cube)) clear_bit(copy, bit + 1);
    }
    for (const Word* cube : one) {
      if (result.any_contains(cube)) continue;
      Word* copy = result.add_copy(cube);
      if (!zero.any_contains(cube)) clear_bit(copy, bit);
    }
  }
  return result;
}

// Is every point in it?
bool is_tautology(const Cover& cover) {
  if (cover.has_universe()) return true;
  double volume = 0;
  for (const Word* cube : cover) {
    int literals = 0;
    for_literals(cube, cover.words(), [&](std::size_t) { ++literals; });
    volume += std::ldexp(1, -literals);
  }
  if (volume < 1) return false;
  Split split = choose_split(cover);
  return split.is_binate && is_tautology(cofactor(cover, split.bit)) &&
         is_tautology(cofactor(cover, split.bit + 1));
}

// Drops literals as long as a cube stays outside of the complement, then the cubes that it
// contains.
void expand(Cover& cover, const Cover& outside) {
  for (std::size_t i = 0; i < cover.size(); ++i) {
    Word* cube = cover.begin()[i];
    std::vector<std::size_t> literals;
    for_literals(cube, cover.words(), [&](std::size_t bit) { literals.push_back(bit); });
    for (std::size_t bit : literals) {
      set_bit(cube, bit);
      if (outside.any_meets(cube)) clear_bit(cube, bit);
    }
    for (std::size_t j = cover.size(); j-- > i + 1;)
      if (cover.is_within(cover.begin()[j], cube)) cover.remove(j);
  }
}

void leave_out_redundant(Cover& cover) {
  for (std::size_t i = cover.size(); i-- > 0;)
    if (is_tautology(cofactor_of_others(cover, cover.begin()[i]))) cover.remove(i);
}

Cover make_function(std::size_t cubes, workload::Random& random) {
  std::uint32_t variables = 20 + random.below(181);
  std::vector<std::uint32_t> occurring(kOccurring);
  for (std::uint32_t& variable : occurring) variable = random.below(variables);
  Cover cover((variables + kVariablesOfWord - 1) / kVariablesOfWord);
  for (; cubes > 0; --cubes) {
    Word* cube = cover.add_universe();
    for (std::uint32_t n = 4 + random.below(4); n > 0; --n) {
      std::size_t bit = 2 * occurring[random.below(kOccurring)] + random.below(2);
      if (has_bit(cube, bit ^ 1)) clear_bit(cube, bit);
    }
  }
  return cover;
}

bool agree(const Cover& function, const Cover& minimised, const Cover& outside,
           workload::Random& random) {
  Cover points(function.words());
  Word* point = points.add_universe();
  for (int i = 0; i < 200; ++i) {
    // Random points are seldom inside a function of many variables; every other one is made so.
    const Word* cube = function.begin()[random.below(static_cast<std::uint32_t>(function.size()))];
    for (std::size_t bit = 0; bit < function.words() * 64; bit += 2) {
      std::size_t value = random.below(2);
      if (i % 2 == 0 && !has_bit(cube, bit + value)) value ^= 1;
      set_bit(point, bit + value);
      clear_bit(point, bit + (value ^ 1));
    }
    bool inside = function.any_contains(point);
    if (minimised.any_contains(point) != inside || outside.any_contains(point) == inside)
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_espresso [FUNCTIONS [CUBES]]";
  std::size_t functions = workload::argument(argc, argv, 1, 100, usage);
  std::size_t cubes = workload::argument(argc, argv, 2, 40, usage);

  workload::Stopwatch stopwatch;
  workload::Random random(1);
  for (std::size_t i = 0; i < functions; ++i) {
    Cover function = make_function(cubes, random);
    Cover outside = complement(function);
    Cover minimised = complement(outside);
    expand(minimised, outside);
    leave_out_redundant(minimised);
    if (!agree(function, minimised, outside, random))
      workload::fail("function %zu: the result is another function", i);
  }
  workload::print_json(argc, argv, {{"ms", stopwatch.elapsed_ms()}});
}

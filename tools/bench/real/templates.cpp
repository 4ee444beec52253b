// SPDX-License-Identifier: MIT
// A translation unit that keeps the compiler busy: many standard headers, and templates over them.
// It is compiled, never run: `g++ -std=c++20 -O1 -c templates.cpp -o /dev/null`, or with
// `-S -o -` in place of the last three, which prints the same assembly in every run.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

// A distinct type for each number, so that nothing is instantiated for two of them at once.
template <int number>
struct Key {
  int value = number;
  std::string name = "key";
  auto operator<=>(const Key&) const = default;
};

template <int number>
struct Table {
  using Row = std::tuple<Key<number>, std::optional<double>, std::string>;
  std::map<Key<number>, std::vector<Row>> rows;
  std::set<std::pair<int, Key<number>>> order;

  std::size_t add(int count) {
    for (int i = 0; i < count; ++i) {
      Key<number> key{i % 7, std::to_string(i)};
      rows[key].emplace_back(key, i % 2 ? std::optional(i * 0.5) : std::nullopt, key.name + "!");
      order.emplace(-i, std::move(key));
    }
    return rows.size() + order.size();
  }

  double sorted_sum() {
    double total = 0;
    for (auto& [key, list] : rows) {
      std::ranges::stable_sort(list, std::greater{},
                               [](const Row& row) { return std::get<0>(row); });
      auto values =
          list | std::views::filter([](const Row& row) { return std::get<1>(row).has_value(); }) |
          std::views::transform([](const Row& row) { return *std::get<1>(row); });
      total += std::accumulate(values.begin(), values.end(), 0.0) + key.value;
    }
    return total;
  }
};

template <typename... Alternatives>
class Shapes {
 public:
  template <typename Alternative>
  void add(Alternative shape) {
    shapes_.push_back(std::make_shared<std::variant<Alternatives...>>(std::move(shape)));
  }

  std::string describe() const {
    std::ostringstream text;
    for (const auto& shape : shapes_) {
      std::visit([&](const auto& is) { text << sizeof(is) << ' ' << is.value << ' '; }, *shape);
    }
    return text.str();
  }

 private:
  std::vector<std::shared_ptr<std::variant<Alternatives...>>> shapes_;
};

// The sum of f(0), f(1) ..., each number given as a type.
template <typename Function, std::size_t... indexes>
constexpr auto sum_over(Function f, std::index_sequence<indexes...>) {
  return (f(std::integral_constant<std::size_t, indexes>{}) + ...);
}

constexpr int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
static_assert(fibonacci(20) == 6765);

}  // namespace

double use_everything(int count) {
  double total = sum_over(
      [&](auto index) {
        Table<static_cast<int>(index())> table;
        std::function<double(int)> add = [&table](int n) {
          return table.add(n) + table.sorted_sum();
        };
        return add(count);
      },
      std::make_index_sequence<2>{});

  Shapes<Key<1>, Key<2>, Key<3>, Key<4>, Key<5>, Key<6>> shapes;
  shapes.add(Key<1>{});
  shapes.add(Key<6>{});

  std::unordered_map<std::string, std::array<int, 4>> words;
  std::istringstream text(shapes.describe());
  for (std::string word; text >> word;) ++words[word][word.size() % 4];
  return total + static_cast<double>(words.size());
}

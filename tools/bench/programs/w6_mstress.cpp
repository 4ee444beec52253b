// SPDX-License-Identifier: MIT
// W6 mstress: trees of objects that live for different times and change threads. T threads.
//
// `w6_mstress [THREADS [ITERATIONS [TREES]]]`: in every iteration T fresh threads each build TREES
// trees of 1 to 31 nodes. A node is an object of 32 bytes to 2 MiB: half are below 64 bytes, a
// quarter below 128, and so on, so that each doubling has the same share of the memory. Three trees
// in four go to a random one of 16 places, where they are soon displaced, the others to one of 400.
// What is displaced is freed, or, one time in eight, exchanged atomically for what lies in one of
// 256 transfer slots, and that is freed. A thread that ends frees half of what it still holds and
// leaves the rest in the transfer slots; after every fourth iteration the main thread frees these.
// A node repeats its size in its last word, which is checked before it is freed, and as many must
// be freed as were allocated. "ms" is the whole time.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

constexpr std::uint32_t kShortLived = 16, kLongLived = 400;
constexpr std::uint32_t kTransferSlots = 256;
constexpr std::uint32_t kMaxDepth = 4;
constexpr std::uint32_t kSmallest = 32, kDoublings = 16;
constexpr std::size_t kPage = 4096;

// The beginning of an object of that many bytes, a multiple of 8.
struct Node {
  std::size_t bytes;
  Node *left, *right;

  char* begin() { return reinterpret_cast<char*>(this); }
  std::size_t& last_word() { return reinterpret_cast<std::size_t*>(begin() + bytes)[-1]; }
};
static_assert(sizeof(Node) + sizeof(std::size_t) <= kSmallest);

struct Tally {
  std::size_t allocated = 0, freed = 0, damaged = 0;

  void add(const Tally& other) {
    allocated += other.allocated;
    freed += other.freed;
    damaged += other.damaged;
  }
};

Node* build(std::uint32_t depth, workload::Random& random, Tally& tally) {
  if (depth > kMaxDepth || (depth > 0 && random.below(4) == 0)) return nullptr;
  std::size_t divisor = random.below(1u << kDoublings) + 1;
  std::size_t bytes = ((std::size_t{kSmallest} << kDoublings) / divisor + 7) & ~std::size_t{7};
  Node* node = static_cast<Node*>(std::malloc(bytes));
  for (std::size_t i = kPage; i < bytes; i += kPage) node->begin()[i] = 1;
  node->bytes = bytes;
  node->last_word() = bytes;
  ++tally.allocated;
  node->left = build(depth + 1, random, tally);
  node->right = build(depth + 1, random, tally);
  return node;
}

void free_tree(Node* node, Tally& tally) {
  if (node == nullptr) return;
  free_tree(node->left, tally);
  free_tree(node->right, tally);
  tally.damaged += node->last_word() != node->bytes;
  ++tally.freed;
  std::free(node);
}

class TransferSlots {
 public:
  // Leaves that tree, perhaps null, in a slot; the caller owns the one that was there.
  Node* exchange(std::uint32_t slot, Node* tree) {
    return trees_[slot].exchange(tree, std::memory_order_acq_rel);
  }

  void free_all(Tally& tally) {
    for (std::uint32_t slot = 0; slot < kTransferSlots; ++slot)
      free_tree(exchange(slot, nullptr), tally);
  }

 private:
  std::array<std::atomic<Node*>, kTransferSlots> trees_ = {};
};

Tally run_thread(TransferSlots& transfer, std::size_t trees, std::size_t seed) {
  workload::Random random(seed);
  Tally tally;
  auto transfer_or_free = [&](Node* tree, bool transfers) {
    if (transfers) tree = transfer.exchange(random.below(kTransferSlots), tree);
    free_tree(tree, tally);
  };

  std::array<Node*, kShortLived + kLongLived> held = {};
  for (; trees > 0; --trees) {
    bool is_short_lived = random.below(4) != 0;
    std::uint32_t place =
        is_short_lived ? random.below(kShortLived) : kShortLived + random.below(kLongLived);
    transfer_or_free(held[place], random.below(8) == 0);
    held[place] = build(0, random, tally);
  }
  for (Node* tree : held) transfer_or_free(tree, random.below(2) == 0);
  return tally;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_mstress [THREADS [ITERATIONS [TREES]]]";
  std::size_t threads = workload::argument(argc, argv, 1, 4, usage);
  std::size_t iterations = workload::argument(argc, argv, 2, 40, usage);
  std::size_t trees = workload::argument(argc, argv, 3, 3'000, usage);

  workload::Stopwatch stopwatch;
  TransferSlots transfer;
  Tally total;
  for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
    std::vector<Tally> tallies(threads);
    std::vector<std::thread> running;
    for (std::size_t i = 0; i < threads; ++i) {
      running.emplace_back([&transfer, trees, &tally = tallies[i], seed = iteration * threads + i] {
        tally = run_thread(transfer, trees, seed);
      });
    }
    for (std::thread& thread : running) thread.join();
    for (const Tally& tally : tallies) total.add(tally);
    if (iteration % 4 == 3) transfer.free_all(total);
  }
  transfer.free_all(total);
  double ms = stopwatch.elapsed_ms();

  if (total.damaged > 0 || total.freed != total.allocated)
    workload::fail("%zu nodes allocated, %zu freed, %zu damaged", total.allocated, total.freed,
                   total.damaged);
  workload::print_json(argc, argv, {{"ms", ms}});
}

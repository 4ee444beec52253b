// SPDX-License-Identifier: MIT
// A class with operators new and delete of its own, as with a hand-written pool: `new`, `delete`
// and std::unique_ptr stay as they are in the program.
#include <pktmalloc.hpp>

#include <cstdio>
#include <memory>

struct Node : pktmalloc::pooled<Node> {
  Node(int v, std::unique_ptr<Node> n) : value(v), next(std::move(n)) {}
  int value;
  std::unique_ptr<Node> next;
};
static_assert(sizeof(Node) == 2 * sizeof(void*));  // the base adds nothing

int main() {
  std::unique_ptr<Node> head;
  for (int i = 0; i < 1000; ++i) head = std::make_unique<Node>(i, std::move(head));
  long sum = 0;
  for (const Node* node = head.get(); node != nullptr; node = node->next.get()) sum += node->value;
  Node* const one = new Node(1, nullptr);
  sum += one->value;
  delete one;
  std::printf("%ld\n", sum);
}

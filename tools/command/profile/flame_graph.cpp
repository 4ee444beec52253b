// SPDX-License-Identifier: MIT
#include "tools/command/profile/flame_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

#include "tools/command/profile/flame_graph_page.inc"

using Json = nlohmann::json;

struct Node {
  Estimates now, before;
  // By Counted, the sum of what each stack holds, now or before, whichever is more.
  double most[std::size(kAllCounted)] = {};
  std::map<std::string, Node> callees;

  void add(const NamedStack& stack) {
    now += stack.now;
    before += stack.before;
    for (const Counted each : kAllCounted) {
      most[static_cast<size_t>(each)] += std::max(stack.now[each].bytes, stack.before[each].bytes);
    }
  }
};

Node tree_of(const std::vector<NamedStack>& stacks) {
  Node root;
  for (const NamedStack& stack : stacks) {
    Node* at = &root;
    at->add(stack);
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
      at = &at->callees[frame_text(*frame)];
      at->add(stack);
    }
  }
  return root;
}

// What the page offers.
struct Offer {
  std::vector<Counted> counted;
  bool compares;  // two profiles
};

// [name, callees, bytes, objects], and if it compares, bytes before and the most of both.
Json json_of(const std::string& name, const Node& node, const Offer& offer) {
  Json callees = Json::array(), bytes = callees, objects = callees, before = callees,
       most = callees;
  for (const auto& [callee, below] : node.callees) {
    callees.push_back(json_of(callee, below, offer));
  }
  for (const Counted counted : offer.counted) {
    bytes.push_back(std::llround(node.now[counted].bytes));
    objects.push_back(std::llround(node.now[counted].objects));
    before.push_back(std::llround(node.before[counted].bytes));
    most.push_back(std::llround(node.most[static_cast<size_t>(counted)]));
  }
  Json all = {name, std::move(callees), std::move(bytes), std::move(objects)};
  if (offer.compares) {
    all.push_back(std::move(before));
    all.push_back(std::move(most));
  }
  return all;
}

std::string about(const HeapProfile& profile, const Estimate& all, Counted counted) {
  const std::string amount = fmt::format("{} in {} objects {}. ", bytes_text(all.bytes),
                                         short_text(all.objects), counted_text(counted));
  if (profile.rate == 0) return amount;
  if (profile.rate == 1) return amount + "Every allocation was seen.";
  return amount + fmt::format(
                      "One sample per {}: {} sample{}. The whole is sure to ± {} "
                      "(one standard error); {}.",
                      bytes_text(static_cast<double>(profile.rate)), count_text(all.samples),
                      all.samples == 1 ? "" : "s", bytes_text(all.error), missing_text(profile));
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return out;
}

void replace(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

std::string growth_about(const HeapProfile& before, const HeapProfile& now, const Node& root,
                         Counted counted) {
  const Estimate& a = root.before[counted];
  const Estimate& b = root.now[counted];
  const double change = b.bytes - a.bytes;
  std::string text = fmt::format("{}{} {}, from {} in {} to {} in {}", change < 0 ? "-" : "+",
                                 bytes_text(std::abs(change)), counted_text(counted),
                                 bytes_text(a.bytes), before.file, bytes_text(b.bytes), now.file);
  const double error = std::hypot(a.error, b.error);
  if (error > 0) text += fmt::format(" (± {}, one standard error)", bytes_text(error));
  return text +
         ". Red has grown, blue has shrunk; a bar is as wide as what its stacks hold, "
         "before or now, whichever is more.";
}

std::string page_of(const std::string& title, const Json& views, Counted shown, const Json& root) {
  const auto text = [](const Json& json) {
    std::string dumped = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    replace(dumped, "</", "<\\/");  // names may hold the end of a script
    return dumped;
  };
  std::string page = kPage;
  replace(page, "@TITLE@", escaped(title));
  replace(page, "@VIEWS@", text(views));
  replace(page, "@SHOWN@", text(counted_option(shown)));
  replace(page, "@DATA@", text(root));
  return page;
}

}  // namespace

std::string flame_graph_page(const std::vector<NamedStack>& stacks, const HeapProfile& profile,
                             Counted counted) {
  const Node root = tree_of(stacks);
  Offer offer{{}, false};
  Json views = Json::array();
  for (const Counted each : kAllCounted) {
    if (!profile.has(each)) continue;
    offer.counted.push_back(each);
    views.push_back({counted_option(each), about(profile, root.now[each], each)});
  }
  return page_of(fmt::format("Heap of {}, process {}", profile.program, profile.pid), views,
                 counted, json_of("all", root, offer));
}

std::string growth_page(const std::vector<NamedStack>& stacks, const HeapProfile& before,
                        const HeapProfile& now, Counted counted) {
  const Node root = tree_of(stacks);
  Offer offer{{}, true};
  Json views = Json::array();
  for (const Counted each : kAllCounted) {
    if (!before.has(each) || !now.has(each)) continue;
    offer.counted.push_back(each);
    views.push_back({counted_option(each), growth_about(before, now, root, each)});
  }
  return page_of(fmt::format("Growth of the heap of {}", now.program), views, counted,
                 json_of("all", root, offer));
}

std::string flame_graph_of(const std::string& path) {
  const HeapProfile profile = read_heap_profile(path);
  Symbolizer symbolizer(true, true);
  return flame_graph_page(named_stacks(profile, symbolizer), profile, foremost(profile));
}

}  // namespace pktmalloc

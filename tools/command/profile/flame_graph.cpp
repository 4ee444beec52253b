// SPDX-License-Identifier: MIT
#include "tools/command/profile/flame_graph.h"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

#include "tools/command/profile/flame_graph_page.inc"

using Json = nlohmann::json;

struct Node {
  Estimates amounts;
  std::map<std::string, Node> callees;
};

// Of each that the page offers.
using Offered = std::vector<Counted>;

// [name, callees, bytes, objects]
Json json_of(const std::string& name, const Node& node, const Offered& offered) {
  Json callees = Json::array(), bytes = Json::array(), objects = Json::array();
  for (const auto& [callee, below] : node.callees) {
    callees.push_back(json_of(callee, below, offered));
  }
  for (const Counted counted : offered) {
    bytes.push_back(std::llround(node.amounts[counted].bytes));
    objects.push_back(std::llround(node.amounts[counted].objects));
  }
  return {name, std::move(callees), std::move(bytes), std::move(objects)};
}

std::string about(const HeapProfile& profile, const Estimate& all, Counted counted) {
  const std::string amount = fmt::format("{} in {} objects {}. ", bytes_text(all.bytes),
                                         short_text(all.objects), counted_text(counted));
  if (profile.rate == 0) return amount;
  if (profile.rate == 1) return amount + "Every allocation was seen.";
  return amount + fmt::format(
                      "One sample per {}: {} sample{}. The whole is sure to ± {} "
                      "(one standard error).",
                      bytes_text(static_cast<double>(profile.rate)), count_text(all.samples),
                      all.samples == 1 ? "" : "s", bytes_text(all.error));
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

}  // namespace

std::string flame_graph_page(const std::vector<NamedStack>& stacks, const HeapProfile& profile,
                             Counted counted) {
  Offered offered;
  for (const Counted each : kAllCounted) {
    if (profile.has(each)) offered.push_back(each);
  }
  Node root;
  for (const NamedStack& stack : stacks) {
    Node* at = &root;
    at->amounts += stack.now;
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
      at = &at->callees[frame_text(*frame)];
      at->amounts += stack.now;
    }
  }
  Json views = Json::array();
  for (const Counted each : offered) {
    views.push_back({counted_option(each), about(profile, root.amounts[each], each)});
  }
  const auto text = [](const Json& json) {
    std::string dumped = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    replace(dumped, "</", "<\\/");  // names may hold the end of a script
    return dumped;
  };
  std::string page = kPage;
  replace(page, "@TITLE@",
          escaped(fmt::format("Heap of {}, process {}", profile.program, profile.pid)));
  replace(page, "@VIEWS@", text(views));
  replace(page, "@SHOWN@", text(counted_option(counted)));
  replace(page, "@DATA@", text(json_of("all", root, offered)));
  return page;
}

std::string flame_graph_of(const std::string& path) {
  const HeapProfile profile = read_heap_profile(path);
  Symbolizer symbolizer(false, true);
  return flame_graph_page(named_stacks(profile, symbolizer), profile, foremost(profile));
}

}  // namespace pktmalloc

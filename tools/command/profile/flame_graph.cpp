// SPDX-License-Identifier: MIT
#include "tools/command/profile/flame_graph.h"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

#include "tools/command/profile/flame_graph_page.inc"

struct Node {
  double bytes = 0, objects = 0;
  std::map<std::string, Node> callees;
};

// [name, bytes, objects, callees]
nlohmann::json json_of(const std::string& name, const Node& node) {
  nlohmann::json callees = nlohmann::json::array();
  for (const auto& [callee, below] : node.callees) callees.push_back(json_of(callee, below));
  return {name, static_cast<uint64_t>(node.bytes + 0.5), static_cast<uint64_t>(node.objects + 0.5),
          std::move(callees)};
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

std::string flame_graph_page(const ProfileTable& table, const HeapProfile& profile,
                             const std::string& what) {
  Node root;
  for (const ProfileRow& row : table.rows) {
    Node* at = &root;
    const auto add = [&row](Node& node) {
      node.bytes += row.amount.bytes;
      node.objects += row.amount.objects;
    };
    add(root);
    for (auto frame = row.frames.rbegin(); frame != row.frames.rend(); ++frame) {
      at = &at->callees[frame_text(*frame)];
      add(*at);
    }
  }
  std::string data =
      json_of("all", root).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  replace(data, "</", "<\\/");  // names may hold the end of a script
  std::string page = kPage;
  replace(page, "@TITLE@",
          escaped(fmt::format("Heap of {}, process {}", profile.program, profile.pid)));
  const std::string about =
      profile.rate == 1
          ? "Every allocation was seen."
          : fmt::format(
                "One sample per {}: {} samples. The whole is sure to ± {} (one standard error).",
                bytes_text(static_cast<double>(profile.rate)), count_text(table.total.samples),
                bytes_text(table.total.error));
  replace(page, "@ABOUT@",
          escaped(fmt::format("{} {}. ", bytes_text(table.total.bytes), what)) + about);
  replace(page, "@DATA@", data);
  return page;
}

std::string flame_graph_of(const std::string& path) {
  const HeapProfile profile = read_heap_profile(path);
  Symbolizer symbolizer(false, true);
  return flame_graph_page(profile_table(profile, Counted::kLive, symbolizer), profile, "live");
}

}  // namespace pktmalloc

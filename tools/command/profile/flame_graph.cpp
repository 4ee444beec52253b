// SPDX-License-Identifier: MIT
#include "tools/command/profile/flame_graph.h"

#include <fmt/core.h>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

#include "tools/command/profile/flame_graph_page.inc"

using Json = nlohmann::json;

constexpr size_t kMoments = 60;  // on a page over time

// In one view: what is counted, or a moment.
struct Amounts {
  Estimate now, before;
  // The sum of what each stack holds, now or before, whichever is more.
  double most = 0;
};

struct Node {
  std::vector<Amounts> views;
  std::map<std::string, Node> callees;

  void add(size_t view, const Estimate& now, const Estimate& before) {
    views.resize(std::max(views.size(), view + 1));
    views[view].now += now;
    views[view].before += before;
    views[view].most += std::max(now.bytes, before.bytes);
  }
};

void add(Node& root, const NamedStack& stack, size_t view, Counted counted) {
  const Estimate &now = stack.now[counted], &before = stack.before[counted];
  if (now.objects == 0 && before.objects == 0) return;
  Node* at = &root;
  at->add(view, now, before);
  for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
    at = &at->callees[frame_text(*frame)];
    at->add(view, now, before);
  }
}

Node tree_of(const std::vector<NamedStack>& stacks, const std::vector<Counted>& offered) {
  Node root;
  root.views.resize(offered.size());
  for (const NamedStack& stack : stacks) {
    for (size_t view = 0; view < offered.size(); ++view) add(root, stack, view, offered[view]);
  }
  return root;
}

// [name, callees, bytes, objects] by view, and if two profiles are compared, bytes before and the
// most of both.
Json json_of(const std::string& name, Node& node, size_t views, bool compares) {
  Json callees = Json::array(), bytes = callees, objects = callees, before = callees,
       most = callees;
  for (auto& [callee, below] : node.callees) {
    callees.push_back(json_of(callee, below, views, compares));
  }
  node.views.resize(views);
  for (const Amounts& amounts : node.views) {
    bytes.push_back(std::llround(amounts.now.bytes));
    objects.push_back(std::llround(amounts.now.objects));
    before.push_back(std::llround(amounts.before.bytes));
    most.push_back(std::llround(amounts.most));
  }
  Json all = {name, std::move(callees), std::move(bytes), std::move(objects)};
  if (compares) {
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

std::string growth_about(const HeapProfile& before, const HeapProfile& now, const Amounts& all,
                         Counted counted) {
  const Estimate& a = all.before;
  const Estimate& b = all.now;
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

// What the page shows: names of views and what is said of them, the first one shown, and whether
// they follow each other in time or the stacks begin with a thread.
struct Page {
  std::string title;
  Json views = Json::array();
  std::string shown;
  bool in_time = false, has_threads = false;
};

std::string text_of(const Page& page, const Json& root) {
  const auto text = [](const Json& json) {
    std::string dumped = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    replace(dumped, "<", "\\u003c");  // names may hold what begins or ends a script
    return dumped;
  };
  std::string html = kPage;
  replace(html, "@TITLE@", escaped(page.title));
  replace(html, "@VIEWS@", text(page.views));
  replace(html, "@SHOWN@", text(page.shown));
  replace(html, "@TIME@", text(page.in_time));
  replace(html, "@THREADS@", text(page.has_threads));
  replace(html, "@DATA@", text(root));
  return html;
}

std::string title_of(const HeapProfile& profile) {
  return fmt::format("Heap of {}, process {}", profile.program, profile.pid);
}

// When it was written.
double seconds_of(const HeapProfile& profile) {
  struct stat file {};
  stat(profile.file.c_str(), &file);
  return static_cast<double>(file.st_mtim.tv_sec) + static_cast<double>(file.st_mtim.tv_nsec) / 1e9;
}

}  // namespace

std::string flame_graph_page(const std::vector<NamedStack>& stacks, const HeapProfile& profile,
                             Counted counted) {
  Page page{title_of(profile), {}, counted_option(counted), false, profile.has_threads()};
  std::vector<Counted> offered;
  std::copy_if(std::begin(kAllCounted), std::end(kAllCounted), std::back_inserter(offered),
               [&](Counted each) { return profile.has(each); });
  Node root = tree_of(stacks, offered);
  for (size_t view = 0; view < offered.size(); ++view) {
    page.views.push_back(
        {counted_option(offered[view]), about(profile, root.views[view].now, offered[view])});
  }
  return text_of(page, json_of("all", root, offered.size(), false));
}

std::string growth_page(const std::vector<NamedStack>& stacks, const HeapProfile& before,
                        const HeapProfile& now, Counted counted) {
  Page page{"Growth of the heap of " + now.program,
            {},
            counted_option(counted),
            false,
            now.has_threads()};
  std::vector<Counted> offered;
  std::copy_if(std::begin(kAllCounted), std::end(kAllCounted), std::back_inserter(offered),
               [&](Counted each) { return before.has(each) && now.has(each); });
  Node root = tree_of(stacks, offered);
  for (size_t view = 0; view < offered.size(); ++view) {
    page.views.push_back({counted_option(offered[view]),
                          growth_about(before, now, root.views[view], offered[view])});
  }
  return text_of(page, json_of("all", root, offered.size(), true));
}

std::string time_page(const std::vector<std::string>& files, Counted counted,
                      Symbolizer& symbolizer) {
  Page page;
  page.in_time = true;
  Node root;
  const size_t views = std::min(files.size(), kMoments);
  double begin = 0;
  for (size_t view = 0; view < views; ++view) {
    // The first, the last, and as many between as the page has room for.
    const HeapProfile profile =
        read_heap_profile(files[view * (files.size() - 1) / std::max<size_t>(views - 1, 1)]);
    if (view == 0) begin = seconds_of(profile);
    root.views.resize(view + 1);
    for (const NamedStack& stack : named_stacks(profile, symbolizer))
      add(root, stack, view, counted);
    page.title = title_of(profile) + ", over time";
    page.shown = std::to_string(view);
    page.has_threads |= profile.has_threads();
    page.views.push_back(
        {page.shown, fmt::format("{}, {} after the first: {}",
                                 std::filesystem::path(profile.file).filename().string(),
                                 duration_text(1e3 * std::max(seconds_of(profile) - begin, 0.0)),
                                 about(profile, root.views[view].now, counted))});
  }
  return text_of(page, json_of("all", root, views, false));
}

std::string flame_graph_of(const std::vector<std::string>& files) {
  Symbolizer symbolizer(true, true);
  if (files.size() > 1) return time_page(files, Counted::kLive, symbolizer);
  const HeapProfile profile = read_heap_profile(files.front());
  return flame_graph_page(named_stacks(profile, symbolizer), profile, foremost(profile));
}

}  // namespace pktmalloc

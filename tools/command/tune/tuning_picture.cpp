// SPDX-License-Identifier: MIT
// The histogram of a recording at its peak, twice: with the borders of the default classes and with
// those of the tuned ones. A bar is what was requested, in sizes an eighth of a doubling apart, and
// on it what rounding adds.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tools/command/page/page.h"
#include "tools/command/page/svg.h"
#include "tools/command/text/quantity.h"
#include "tools/command/tune/tuning.h"

namespace pktmalloc {
namespace {

constexpr double kWidth = 960, kLeft = 78, kRight = 12;
constexpr double kTop = 46, kPlot = 190, kPanel = 280;  // heights: head, plot, all of a panel
constexpr unsigned kBinsPerDoubling = 8;
constexpr double kHalfLabel = 36;       // of "128.0 KiB"
constexpr unsigned kLeastDoubling = 4;  // 16 bytes

constexpr char kStyle[] =
    "svg.tuning { --paper:#ffffff; --ink:#1f2329; --muted:#5c6570; --grid:#dfe3e8;"
    " --blue:#0a4fd6; --loss:#c8460a; background:var(--paper);"
    " font-family: system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif }\n"
    "@media (prefers-color-scheme: dark) { svg.tuning { --paper:#0d1117; --ink:#e6eaef;"
    " --muted:#9aa3ad; --grid:#2b313a; --blue:#5a9bff; --loss:#ff8552 } }\n"
    ".tuning text { font-size:12px; fill:var(--muted) }\n"
    ".tuning .end { text-anchor:end } .tuning .middle { text-anchor:middle }\n"
    ".tuning .title { font-size:15px; font-weight:600; fill:var(--ink) }\n"
    ".tuning .grid { stroke:var(--grid) } .tuning .axis { stroke:var(--muted) }\n"
    ".tuning .border { stroke:var(--ink); stroke-width:1 }\n"
    ".tuning .requested { fill:var(--blue) } .tuning .lost { fill:var(--loss) }\n";

struct Bin {
  uint64_t requested = 0;
  uint64_t lost = 0;
  uint64_t all() const { return requested + lost; }
};

double position(double bytes) {
  return (std::log2(std::max(bytes, 16.0)) - kLeastDoubling) * kBinsPerDoubling;
}

// Where sizes lie from left to right, and bytes from bottom to top; the same for both panels.
struct Scale {
  double bins;
  double most;
  double x(double at) const { return kLeft + at / bins * (kWidth - kLeft - kRight); }
  double height(double bytes) const { return bytes / most * kPlot; }
};

std::vector<Bin> bins_of(const SizeRecording& recording, const TableFit& fit) {
  std::vector<Bin> bins;
  for (size_t i = 0; i < recording.sizes.size(); ++i) {
    const SizeRecord& r = recording.sizes[i];
    if (fit.class_of[i] == 0 || r.live_at_peak == 0) continue;
    // Of sizes that are class sizes, the bin to the left of the border.
    const double at = std::ceil(position(static_cast<double>(r.bytes)) - 1e-9) - 1;
    const size_t bin = static_cast<size_t>(std::max(at, 0.0));
    if (bin >= bins.size()) bins.resize(bin + 1);
    bins[bin].requested += r.bytes * r.live_at_peak;
    bins[bin].lost += (fit.class_of[i] - r.bytes) * r.live_at_peak;
  }
  return bins;
}

std::string size_name(unsigned doubling) { return bytes_text(std::exp2(doubling)); }

void draw_axes(Svg& svg, const Scale& scale, double top) {
  const double bottom = top + kPlot;
  for (const double share : {0.5, 1.0}) {
    const double y = bottom - share * kPlot;
    svg.line({kLeft, y}, {kWidth - kRight, y}, "grid");
    svg.text({kLeft - 8, y + 4}, "end", bytes_text(share * scale.most));
  }
  svg.line({kLeft, bottom}, {kWidth - kRight, bottom}, "axis");
  for (unsigned n = 0; n * kBinsPerDoubling <= scale.bins; n += 2) {
    const double x = scale.x(n * kBinsPerDoubling);
    const bool is_at_edge = x + kHalfLabel > kWidth;
    svg.text({is_at_edge ? kWidth : x, bottom + 30}, is_at_edge ? "end" : "middle",
             size_name(n + kLeastDoubling));
  }
}

void draw_panel(Svg& svg, const Scale& scale, double top, const std::string& name,
                const std::vector<Bin>& bins, const TableFit& fit) {
  svg.text({kLeft, top - 24}, "title", name);
  svg.text({kLeft, top - 8}, "",
           fmt::format("{} of {} lost to rounding at the peak: {}",
                       bytes_text(static_cast<double>(fit.lost)),
                       bytes_text(static_cast<double>(fit.requested)),
                       share_text(fit.lost, fit.requested)));
  draw_axes(svg, scale, top);
  const double bottom = top + kPlot;
  for (size_t i = 0; i < bins.size(); ++i) {
    const double left = scale.x(static_cast<double>(i)) + 0.5;
    const double width = scale.x(static_cast<double>(i) + 1) - left - 0.5;
    const double requested = scale.height(static_cast<double>(bins[i].requested));
    const double lost = scale.height(static_cast<double>(bins[i].lost));
    const std::string title =
        fmt::format("{} to {}: {} requested, {} lost",
                    bytes_text(16 * std::exp2(static_cast<double>(i) / kBinsPerDoubling)),
                    bytes_text(16 * std::exp2((static_cast<double>(i) + 1) / kBinsPerDoubling)),
                    bytes_text(static_cast<double>(bins[i].requested)),
                    bytes_text(static_cast<double>(bins[i].lost)));
    svg.rectangle({left, bottom - requested}, width, requested, "requested", title);
    svg.rectangle({left, bottom - requested - lost}, width, lost, "lost", title);
  }
  for (const ClassFit& c : fit.classes) {
    const double x = scale.x(position(static_cast<double>(c.bytes)));
    if (x <= kWidth - kRight) svg.line({x, bottom + 2}, {x, bottom + 14}, "border");
  }
  svg.text({kLeft - 8, bottom + 13}, "end", "classes");
}

std::string picture(const Tuning& tuning) {
  const std::vector<Bin> before = bins_of(tuning.recording, tuning.before);
  const std::vector<Bin> after = bins_of(tuning.recording, tuning.after);
  double bins = 2 * kBinsPerDoubling;
  uint64_t most = 1;
  for (const auto* all : {&before, &after}) {
    for (const Bin& bin : *all) most = std::max(most, bin.all());
    bins = std::max(bins, static_cast<double>(all->size()) + 1);
  }
  const Scale scale{bins, static_cast<double>(most)};
  Svg svg(kWidth, 2 * kPanel + 12);
  draw_panel(svg, scale, kTop,
             fmt::format("Default table, {} classes", tuning.before.classes.size()), before,
             tuning.before);
  draw_panel(svg, scale, kPanel + kTop,
             fmt::format("Tuned table, {} classes", tuning.after.classes.size()), after,
             tuning.after);
  svg.rectangle({kWidth - 300, kTop - 34}, 11, 11, "requested");
  svg.text({kWidth - 284, kTop - 24}, "", "requested, by size");
  svg.rectangle({kWidth - 160, kTop - 34}, 11, 11, "lost");
  svg.text({kWidth - 144, kTop - 24}, "", "added by rounding");
  std::string text = svg.finish("Bytes live at the peak by requested size, and class borders");
  return text.insert(text.find(' '), " xmlns=\"http://www.w3.org/2000/svg\" class=\"tuning\"");
}

}  // namespace

std::string tuning_svg(const Tuning& tuning) {
  std::string text = picture(tuning);
  return text.insert(text.find('>') + 1, fmt::format("\n<style>\n{}</style>\n", kStyle));
}

std::string tuning_page(const Tuning& tuning) {
  Page page("Size classes for " + programs_text(tuning.recording),
            fmt::format("{} lost to rounding at the peak with the default table, {} with the tuned "
                        "one",
                        share_text(tuning.before.lost, tuning.before.requested),
                        share_text(tuning.after.lost, tuning.after.requested)));
  page.figure("Memory at the peak by size", "bytes of live objects", tuning_svg(tuning));
  page.section("Table");
  page.preformatted(tuning_text(tuning));
  return page.finish();
}

}  // namespace pktmalloc

// SPDX-License-Identifier: MIT
#include "tools/command/page/page.h"

#include <fmt/core.h>

#include "preload/contract/pktmalloc.h"
#include "tools/command/page/svg.h"

namespace pktmalloc {
namespace {

// Every colour stands out from the paper by 3 to 1 or more, type by 4.5 to 1.
const char kStyle[] = R"css(
:root {
  color-scheme: light dark;
  --paper:#ffffff; --ink:#1f2329; --muted:#5c6570; --grid:#dfe3e8; --loss:#c8460a;
  --blue:#0a4fd6; --sky:#2d8fc6; --amber:#c47a00; --brown:#7d5233; --grey:#8b939d; --slate:#3c4149;
  --green:#0a9469; --pink:#c065a0;
  --font: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  --wash: color-mix(in srgb, var(--blue) 9%, transparent);
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper:#0d1117; --ink:#e6eaef; --muted:#9aa3ad; --grid:#2b313a; --loss:#ff8552;
    --blue:#5a9bff; --sky:#8ad7fb; --amber:#efa83a; --brown:#bd8a66; --grey:#79818b;
    --slate:#c3c9d1; --green:#34bd8d; --pink:#dd8ac0;
  }
}
.blue, .pktmalloc { --hue:var(--blue) } .sky { --hue:var(--sky) }
.amber, .jemalloc { --hue:var(--amber) } .brown { --hue:var(--brown) }
.grey, .other { --hue:var(--grey) } .slate, .glibc { --hue:var(--slate) }
.green, .mimalloc { --hue:var(--green) } .pink, .tcmalloc { --hue:var(--pink) }

body {
  margin: 0 auto; max-width: 60rem; padding: 2rem 1rem 4rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.5 var(--font);
}
h1 { font-size: 1.9rem; margin: 0 0 .3rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .3rem; padding-top: .7rem; line-height: 1.2;
  border-top: 1px solid var(--grid); }
p { margin: .4rem 0 .8rem; max-width: 46rem; }
.small, footer { font-size: .85rem; }
.small, figcaption, th, footer { color: var(--muted); }
.small { overflow-wrap: anywhere; }
.notice { border-left: 4px solid var(--loss); padding: .3rem .8rem; }
footer { margin-top: 3rem; }

.list { margin: 1rem 0; padding-left: 1.2rem; max-width: 46rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; margin: 1.2rem 0; padding: 0; }
.tiles li { list-style: none; color: var(--muted); font-size: .85rem; }
.tiles b { display: block; color: var(--ink); font-size: 1.5rem; line-height: 1.3;
  font-variant-numeric: tabular-nums; }

figure { margin: 0 0 1.8rem; min-width: 0; }
.figures figure { margin: 0; }
iframe { width: 100%; height: 36rem; border: 1px solid var(--grid); border-radius: .4rem; }
figcaption { font-size: .85rem; margin-bottom: .4rem; }
figcaption b { color: var(--ink); font-size: .95rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
  gap: 1.8rem 2rem; margin: 1.2rem 0; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: 0 0 .5rem; padding: 0;
  font-size: .85rem; color: var(--muted); }
.legend li { list-style: none; white-space: nowrap; }
.legend b { color: var(--ink); font-weight: 500; font-variant-numeric: tabular-nums; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em;
  background: var(--hue); }
.legend .dash { width: 1.2em; height: 0; background: none; vertical-align: .25em;
  border-top: 2px dashed var(--hue); }

svg { display: block; width: 100%; overflow: visible; }
.narrow { display: none; }
@media (max-width: 40rem) { .wide { display: none; } .narrow { display: block; } }
text { font: 12px var(--font); fill: var(--muted); font-variant-numeric: tabular-nums; }
text.end, text.name { text-anchor: end; }
text.middle { text-anchor: middle; }
text.name, text.value { fill: var(--ink); }
text.own { font-weight: 700; fill: var(--blue); }
.grid { stroke: var(--grid); }
.area { fill: var(--hue); stroke: var(--paper); stroke-width: .7; }
.curve { fill: none; stroke: var(--hue); stroke-width: 2; stroke-linejoin: round; }
.halo { fill: none; stroke: var(--paper); stroke-width: 3.5; stroke-opacity: .75; }
.dashed { stroke-dasharray: 6 4; stroke: var(--ink); }
.before { stroke: var(--ink); stroke-width: 2; }
.mark { fill: var(--paper); stroke: var(--ink); stroke-width: 1.2; }
.probe { fill: transparent; }
.probe:hover { fill: color-mix(in srgb, var(--ink) 12%, transparent); }

.table { overflow-x: auto; margin: 1rem 0; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; overflow-x: auto; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .55rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th { font-weight: 500; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tr.own td { background: var(--wash); font-weight: 600; }
)css";

}  // namespace

Page::Page(const std::string& title, const std::string& subtitle) : title_(escape(title)) {
  body_ = fmt::format("<h1>{}</h1>\n", title_);
  paragraph(subtitle, "small");
}

void Page::section(const std::string& title, const std::string& text) {
  body_ += fmt::format("<h2>{}</h2>\n", escape(title));
  if (!text.empty()) paragraph(text);
}

void Page::paragraph(const std::string& text, const std::string& css) {
  body_ += fmt::format("<p class=\"{}\">{}</p>\n", css, escape(text));
}

void Page::list(const std::vector<std::string>& lines) {
  body_ += "<ul class=\"list\">";
  for (const std::string& line : lines) body_ += fmt::format("<li>{}</li>\n", escape(line));
  body_ += "</ul>\n";
}

void Page::preformatted(const std::string& text) {
  body_ += fmt::format("<pre class=\"text\">{}</pre>\n", escape(text));
}

void Page::tiles(const std::vector<Tile>& tiles) {
  body_ += "<ul class=\"tiles\">";
  for (const Tile& tile : tiles) {
    body_ += fmt::format("<li><b>{}</b>{}</li>", escape(tile.value), escape(tile.name));
  }
  body_ += "</ul>\n";
}

void Page::figure(const std::string& title, const std::string& unit, const std::string& picture,
                  const std::string& narrow_picture, const std::string& legend) {
  body_ += fmt::format("<figure><figcaption><b>{}</b> {}</figcaption>\n{}", escape(title),
                       escape(unit), legend);
  body_ += narrow_picture.empty()
               ? picture
               : fmt::format("<div class=\"wide\">{}</div><div class=\"narrow\">{}</div>\n",
                             picture, narrow_picture);
  body_ += "</figure>\n";
}

void Page::frame(const std::string& title, const std::string& page) {
  body_ +=
      fmt::format("<iframe title=\"{}\" srcdoc=\"{}\"></iframe>\n", escape(title), escape(page));
}

void Page::table(const std::vector<std::string>& head,
                 const std::vector<std::vector<std::string>>& rows, const std::string& own) {
  body_ += "<div class=\"table\"><table>\n<tr>";
  for (const std::string& cell : head) body_ += fmt::format("<th>{}</th>", escape(cell));
  body_ += "</tr>\n";
  for (const auto& row : rows) {
    body_ += !own.empty() && row.front() == own ? "<tr class=\"own\">" : "<tr>";
    for (const std::string& cell : row) body_ += fmt::format("<td>{}</td>", escape(cell));
    body_ += "</tr>\n";
  }
  body_ += "</table></div>\n";
}

std::string Page::finish() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n{}"
      "<footer>Made by pktmalloc {}.</footer>\n</body></html>\n",
      title_, kStyle, body_, PKTMALLOC_VERSION);
}

}  // namespace pktmalloc

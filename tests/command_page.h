// SPDX-License-Identifier: MIT
// What every page of the command must be: whole, alone, readable in the light and in the dark, on a
// telephone and on a wide window.
#pragma once

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/browser.h"
#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

// It needs nothing else, its pictures are well-formed and say what they show, and every colour
// stands out from the paper. A page within it is not looked at.
inline void check_page(const std::string& path) {
  const Outcome outcome = Program({"/usr/bin/python3", "-c", R"PY(
import re, sys
from xml.etree import ElementTree
html = re.sub(' srcdoc="[^"]*"', "", open(sys.argv[1], encoding="utf-8").read())
assert html.startswith("<!DOCTYPE html>") and html.endswith("</html>\n")
for outside in "http", "<script", "<link", "<img", "@import", "src=", "url(":
    assert outside not in html, outside
assert 'name="viewport"' in html and "<title></title>" not in html
pictures = re.findall(r"<svg.*?</svg>", html, re.S)
assert pictures and html.count("<svg") == len(pictures)
for picture in pictures:
    root = ElementTree.fromstring(picture)
    assert root.get("aria-label") and root.find("text") is not None
    assert not re.search(r"\b(nan|inf)\b", picture), picture[:300]
    for shape in "width", "height", "r":
        assert all(float(e.get(shape)) >= 0 for e in root.iter() if e.get(shape)), shape
assert "<title>" in "".join(pictures)
ElementTree.fromstring("<body>" + html.partition("<body>")[2].removesuffix("</html>\n"))

def light(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
themes = [dict(re.findall(r"--([a-z]+):(#[0-9a-f]{6})", part))
          for part in html.split("@media (prefers-color-scheme: dark)")]
assert len(themes) == 2 and themes[0].keys() == themes[1].keys()
for theme in themes:
    for name, colour in theme.items():
        low, high = sorted((light(colour), light(theme["paper"])))
        least = {"paper": 1, "grid": 1, "ink": 7, "muted": 4.5, "blue": 4.5}.get(name, 3)
        assert (high + 0.05) / (low + 0.05) >= least, (name, colour)
)PY",
                                   path})
                              .run();
  INFO(path << ": " << outcome);
  CHECK(outcome.status == 0);
}

// Nothing but its tables is wider than the window. Needs Chromium.
inline void check_widths(const std::string& path) {
  if (!installed("chromium")) {
    leave_out("the width of pages, for chromium is not installed");
    return;
  }
  for (const std::string width : {"420", "1200"}) {
    TemporaryFolder folder;
    folder.write("frame.html", "<body><iframe src='file://" + path + "' width=" + width +
                                   " height=800 style='border:0' onload='const page = "
                                   "contentDocument.documentElement; document.title = "
                                   "page.scrollWidth - page.clientWidth'></iframe>");
    const Outcome outcome = browsed(folder, "frame.html");
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("<title>0</title>") != std::string::npos);
  }
}

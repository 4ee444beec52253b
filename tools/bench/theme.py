# SPDX-License-Identifier: MIT
"""How everything looks: the colours by day and by night, a style for every allocator, figures.

A chart of the page is drawn in the colours of the day, which then become CSS variables: the page
chooses between day and night. A picture is drawn in its own colours."""
import io
import re
from dataclasses import dataclass

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from allocators import GLIBC, OWN

# Every colour has its own code, for the SVG of a chart is searched for them. An allocator's
# versions share its colour; the colours differ in lightness, too.
DAY = {"paper": "#ffffff", "ink": "#1f2329", "muted": "#5c6570", "grid": "#dfe3e8",
       "own": "#0a4fd6", "loss": "#c8460a", "glibc": "#3c4149", "contender": "#8b939d",
       "jemalloc": "#e08e00", "mimalloc": "#0a9469", "tcmalloc": "#c065a0",
       "snmalloc": "#45a6dc", "rpmalloc": "#7d5233"}
NIGHT = {"paper": "#0d1117", "ink": "#e6eaef", "muted": "#9aa3ad", "grid": "#2b313a",
         "own": "#5a9bff", "loss": "#ff8552", "glibc": "#c3c9d1", "contender": "#79818b",
         "jemalloc": "#efa83a", "mimalloc": "#34bd8d", "tcmalloc": "#dd8ac0",
         "snmalloc": "#8ad7fb", "rpmalloc": "#bd8a66"}


@dataclass
class Style:
    role: str  # its colour
    marker: str
    line: str = "-"
    width: float = 1.5


STYLES = {
    OWN: Style("own", "o", width=3.2), GLIBC: Style("glibc", "s", "--"),
    "jemalloc": Style("jemalloc", "^"), "jemalloc-new": Style("jemalloc", "v", "--"),
    "mimalloc": Style("mimalloc", "D"), "mimalloc2": Style("mimalloc", "p", "--"),
    "mimalloc3": Style("mimalloc", "*", "-."), "tcmalloc": Style("tcmalloc", "X"),
    "snmalloc": Style("snmalloc", "P"), "rpmalloc": Style("rpmalloc", "<")}
OTHER_MARKERS = "v>8dhH^<"


def style_of(name, number=0):
    """Contenders, and allocators without a style, differ by their number."""
    return STYLES.get(name) or Style("contender", OTHER_MARKERS[number % len(OTHER_MARKERS)], ":")


def emphasis(name, colours=DAY):
    """How the name, and what belongs to it, is written."""
    own = name == OWN
    return {"color": colours["own" if own else "ink"], "weight": "bold" if own else "normal"}


def set_defaults(colours):
    """One unit of a figure is a CSS pixel."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({
        "figure.dpi": 72, "figure.facecolor": "none", "axes.facecolor": "none",
        "font.family": "DejaVu Sans", "font.size": 12, "text.parse_math": False,
        "svg.fonttype": "none", "svg.hashsalt": OWN, "hatch.linewidth": 0.8,
        "text.color": colours["ink"], "axes.edgecolor": colours["grid"],
        "axes.labelcolor": colours["muted"], "grid.color": colours["grid"],
        "xtick.color": colours["grid"], "ytick.color": colours["grid"],
        "xtick.labelcolor": colours["muted"], "ytick.labelcolor": colours["ink"],
        "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
        "xtick.major.size": 0, "ytick.major.size": 0, "grid.linewidth": 1})


def new_figure(width, height):
    """Its parts make room for each other; texts can be measured before it is drawn."""
    figure = Figure((width / 72, height / 72), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=2 / 72, h_pad=2 / 72)
    return figure


def svg_text(figure, label, prefix):
    """The figure as an element of the page: with its own ids, the page's colours and its font."""
    output = io.StringIO()
    figure.savefig(output, format="svg", metadata={"Date": None})
    svg = output.getvalue().partition("</metadata>")[2]
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"',
                 lambda found: f' id="{prefix}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{prefix}-", svg).replace("xlink:href", "href")
    for role, colour in DAY.items():
        svg = svg.replace(colour, f"var(--{role})")
    svg = re.sub(r"\s*\n\s*", "\n", svg.replace("'DejaVu Sans'", "var(--font)"))
    width, height = (round(inches * 72, 3) for inches in figure.get_size_inches())
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}">{svg}'


def css_variables(colours):
    return "".join(f"--{role}:{colour};" for role, colour in colours.items())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a record: one page of charts and tables that needs nothing else, and two pictures."""
import argparse
import importlib.util
import os
import re
import sys
from html import escape

if importlib.util.find_spec("matplotlib") is None:
    sys.exit("the page needs matplotlib (Debian: python3-matplotlib, for /usr/bin/python3)")

from allocators import GLIBC, OWN
from charts import TIMES, Chart, charts_of
from overview import (LOSS, draw_mean, draw_picture, draw_ratios, ratios_of, speeds_of,
                      title_of)
from record import read_record
from report import number_text, ratio_text, value_text
from results import NOISY, find_losses
from theme import DAY, NIGHT, css_variables, set_defaults, svg_text

ABOUT = {
    "floor": "A pair of malloc and free, beside a library whose functions do nothing: the cost of "
             "the calls alone.",
    "micro": "Single calls and short sequences of them, in one thread.",
    "W1": "Packets of 1500 bytes behind smart pointers are made, kept, and released; by hand: "
          "a pool.",
    "reserve": "The same packets, the first round beside the later ones: reserved, their memory is there "
               "beforehand.",
    "W2": "Producers post closures through a queue to one consumer, which frees them: every free "
          "is another thread's.",
    "W3": "5,000 objects of eight bytes are made, then deleted in order, over and over; by hand: "
          "a pool.",
    "W4": "Every thread allocates 100,000 objects of 64 bytes and frees them shuffled; beside it "
          "the object pools of other systems, some in their own languages.",
    "W5": "Producer and consumer in one thread, over a ring of smart pointers; by hand: a pool, or "
          "the ring holds values.",
    "W6": "General programs and the field's own benchmarks: nothing may get worse.",
    "W7": "Two threads and a bounded ring; every malloc and free is timed. A curve shows the time "
          "that so many of the calls stay below.",
    "checks": "The same programs with one object in 5000 guarded, and under the checked library.",
    "mixed": "Sizes from 16 bytes to 200 KiB, half of them below 170 bytes; threads come and go.",
    "memory": "Resident memory at start, with a thousand threads, and after a peak: what is left "
              "4 s after all was freed."}
LEGEND = f"""\
From here on less is better, but for ratios. In the tables ~ tells that (max - min) / median is
over {NOISY:.0%}; vs glibc and vs peer are the value of glibc, of the best peer, divided by
{OWN}'s. In the charts a thin line reaches from the least sample to the most; hatched or dotted
grey is what others do by hand, under glibc."""
WIDE, SLIM = 500, 400  # side by side on the page; both legible on a telephone
VERDICTS = {True: ("reached", ""), False: ("missed", "loss"), None: ("not measured", "")}


class Page:
    def __init__(self, record):
        self.record, self.results = record, record.results
        self.parts = []  # of HTML
        self.figures = 0

    def paragraph(self, text, kind=""):
        self.parts.append(f'<p class="{kind}">{escape(text)}</p>')

    def section(self, name, title, text=""):
        self.parts.append(f'<h2 id="{escape(name)}">{escape(title)}</h2>')
        if text:
            self.paragraph(text)

    def group(self, kind, figures):
        """Figures are (title, unit, figure)."""
        self.parts.append(f'<div class="{kind}">')
        for title, unit, figure in figures:
            if figure:
                self.figures += 1
                label = escape(f"Chart of {title} {unit}".strip() + "; the tables tell the values")
                self.parts += [
                    f'<figure style="width:{figure.get_figwidth() * 72:.0f}px">'
                    f"<figcaption><b>{escape(title)}</b> {escape(unit)}</figcaption>",
                    svg_text(figure, label, f"f{self.figures}"), "</figure>"]
        self.parts.append("</div>")

    def table(self, head, rows, kind=""):
        """Cells are texts, or (text, class[, columns])."""
        self.parts.append(f'<div class="table"><table class="{kind}">')
        for row in [[(text, "head") for text in head], *rows]:
            self.parts.append("<tr>")
            for cell in row:
                text, css, columns = (*((cell, "") if isinstance(cell, str) else cell), 1)[:3]
                tag = "th" if css == "head" else "td"
                self.parts.append(
                    f'<{tag} class="{css}" colspan="{columns}">{escape(text)}</{tag}>')
            self.parts.append("</tr>")
        self.parts.append("</table></div>")

    def machine(self):
        record, machine = self.record, self.record.machine
        pages = re.sub(r".*\[|\].*", "", machine["transparent_hugepages"])
        self.paragraph(
            f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['memory_gib']} GiB; Linux "
            f"{machine['kernel']}, {machine['glibc']}, transparent huge pages {pages}, overcommit "
            f"{machine['overcommit_memory']}, load at start {machine['load']:.1f}. Suite "
            f"{record.suite}, {record.rounds_done} of {record.rounds} rounds, commit "
            f"{machine['commit']}, {machine['date']}.", "small")
        versions = [f"{name} {allocator.version}" for name, allocator in record.allocators.items()]
        options = [f"{key}={value}" for key, value in machine["options"].items()]
        self.paragraph(", ".join(versions + options), "small")
        if not record.complete:
            self.paragraph(f"This run is not complete: {record.rounds_done} of {record.rounds} "
                           "rounds are done.", "notice")

    def losses(self):
        losses = find_losses(self.results, self.record.experiments)
        self.section("losses", f"Where {OWN} loses", f"Rows in which glibc or the best peer is "
                     f"ahead: {len(losses)}{', the worst first' * bool(losses)}. Less is better in "
                     "every row.")
        if losses:
            self.table(["row", "ahead", f"{OWN} uses", ""], [
                [loss.row.name, loss.other, f"{loss.times:.2f} times as much",
                 "" if loss.beyond_noise else "the samples overlap"] for loss in losses], "text")

    def overview(self):
        self.section("overview", "Overview", "How many times as fast as glibc: the geometric mean "
                     "over the rows of each workload; for memory, glibc's divided by the "
                     "allocator's. More is better. The dotted line is glibc.")
        self.group("charts", [(title_of(workload), "", draw_mean(speeds, 220))
                              for workload, speeds in speeds_of(self.record).items()])
        self.paragraph(f"Row by row, another's value divided by {OWN}'s: ● the best peer's, "
                       "□ glibc's. What is left of 1 is a loss and has its own colour.")
        ratios = ratios_of(self.record)
        every = [ratio for rows in ratios.values() for _, *pair in rows for ratio in pair if ratio]
        low, high = min(every + [0.5]), max(every + [2])
        self.group("columns", [(title_of(workload), "", draw_ratios(rows, low, high, 460))
                               for workload, rows in ratios.items()])
        self.paragraph(LEGEND, "small")

    def charts(self, experiments):
        """Every chart, and the memory of its runs beside it; once for those of one run."""
        alone = []
        for chart in charts_of(experiments):
            beside = chart.unit in TIMES and not chart.is_of_one_run
            unit = (chart.unit or "count") + ", relative to glibc" * chart.is_relative
            yield chart.title, unit, chart.draw(self.results, WIDE if beside else SLIM)
            if beside:
                yield self.companion(chart)
            elif chart.unit in TIMES:
                alone += chart.rows
        if alone:
            yield self.companion(Chart(alone[0][0].workload, "", "ns", alone))

    def companion(self, chart):
        memory = chart.companion()
        return ("Peak RSS", "MiB" + ", relative to glibc" * bool(memory and memory.is_relative),
                memory and memory.draw(self.results, SLIM))

    def workload(self, workload):
        experiments = [each for each in self.record.experiments if each.workload == workload]
        self.section(workload, title_of(workload), ABOUT.get(workload, ""))
        self.group("charts", self.charts(experiments))
        results, rows = self.results, []
        names = [OWN, *(name for name in self.record.allocators if name != OWN)]
        for experiment in experiments:
            for row in experiment.rows:
                peer, _ = results.best_peer(experiment, row.figure)
                ratios = [results.ratio(experiment, row.figure, name) for name in (GLIBC, peer)]
                values = {name: value_text(results, experiment, row, name).strip()
                          for name in [*names, *experiment.contenders]}
                own, *others = (values.pop(name) for name in names)
                rows.append([row.name, row.unit, (own, "own"),
                             *((ratio_text(ratio), "loss" if ratio and ratio < LOSS else "")
                               for ratio in ratios), *others])
                if values:
                    rows.append([(" · ".join(f"{name} {value}" for name, value in values.items()),
                                  "by-hand", len(names) + 4)])
        self.table(["median", "unit", OWN, "vs glibc", "vs peer", *names[1:]], rows)

    def targets(self):
        lines = self.record.targets
        self.section("targets", "Targets", f"{sum(line['reached'] is True for line in lines)} of "
                     f"{len(lines)} are reached.")
        self.table(["target", "bound", "measured", ""], [
            [line["target"], line["bound"],
             "-" if line["value"] is None else number_text(line["value"], "ms"),
             VERDICTS[line["reached"]]] for line in lines], "text")

    def failures(self):
        failed = self.results.failed
        self.section("failed", "Failed", "" if failed else "Nothing.")
        self.table(["command", "under", "why"], [
            [*where, why] for where, why in failed.items()], "text")

    def html(self):
        set_defaults(DAY)
        workloads = list(dict.fromkeys(each.workload for each in self.record.experiments))
        sections = {"losses": "Losses", "overview": "Overview", **{name: title_of(name)
                    for name in workloads}, "targets": "Targets", "failed": "Failed"}
        self.parts.append(f"<h1>{OWN} beside other allocators</h1>")
        self.machine()
        self.parts += ["<nav>", *(f'<a href="#{escape(name)}">{escape(title)}</a>'
                                  for name, title in sections.items()), "</nav>"]
        self.losses()
        self.overview()
        for workload in workloads:
            self.workload(workload)
        self.targets()
        self.failures()
        with open(os.path.join(os.path.dirname(__file__), "page.css"), encoding="utf-8") as file:
            style = (f":root{{{css_variables(DAY)}}}\n@media(prefers-color-scheme:dark)"
                     f"{{:root{{{css_variables(NIGHT)}}}}}\n{file.read()}")
        return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
                '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
                f"<title>{OWN}: benchmarks</title>\n<style>{style}</style></head>\n<body>\n"
                + "\n".join(self.parts) + "\n</body></html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", help="the JSON file of a run")
    parser.add_argument("--html", metavar="FILE", help="write the page")
    parser.add_argument("--png", metavar="FOLDER", help="write benchmarks-light.png and -dark.png")
    options = parser.parse_args()
    if not options.html and not options.png:
        parser.error("nothing to do: give --html, --png or both")
    try:
        record = read_record(options.record)
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    if options.html:
        with open(options.html, "w", encoding="utf-8") as output:
            output.write(Page(record).html())
    if options.png:
        os.makedirs(options.png, exist_ok=True)
        for name, colours in ("light", DAY), ("dark", NIGHT):
            draw_picture(record, colours, os.path.join(options.png, f"benchmarks-{name}.png"))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""The charts of a record's rows: lines over threads or percentiles, bars, values by glibc's.

Every function that draws makes one figure in the colours of the day; less is better in all."""
import math
import re
from dataclasses import dataclass

from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from allocators import GLIBC, OWN
from experiment import Row
from report import number_text
from results import NOISY
from theme import DAY, emphasis, new_figure, style_of

LOG_FROM = 20  # times the least median: from here on lines have a logarithmic axis
FEW_ROWS = 5   # have bars; more rows are drawn relative to glibc
BAR = 16       # pixels from one to the next
LABEL = 1.09   # where the names of lines begin, in widths of the axes
TIMES = ("ms", "ns")
PEAK = "process_peak_mib"


@dataclass
class Sample:
    low: float
    median: float
    high: float
    noisy: bool = False


def sample_of(results, experiment, figure, name):
    values = results.values(experiment, figure, name)
    return Sample(min(values), results.median(experiment, figure, name), max(values),
                  results.spread(experiment, figure, name) > NOISY) if values else None


def display_order(allocators):
    return [OWN, *(name for name in allocators if name not in (OWN, GLIBC)), GLIBC]


@dataclass
class Chart:
    """Rows that share a workload, a title and a unit."""
    workload: str
    title: str
    unit: str
    rows: list  # of (experiment, row)

    @property
    def is_over_x(self):
        places = {row.x for _, row in self.rows}
        return None not in places and len(places) == len(self.rows) > 1

    @property
    def is_of_percentiles(self):
        return self.workload == "W7" and self.is_over_x

    @property
    def is_of_one_run(self):
        return len({experiment.command for experiment, _ in self.rows}) == 1 < len(self.rows)

    @property
    def is_relative(self):
        return not self.is_over_x and len(self.rows) > FEW_ROWS

    def series(self, results):
        """Name -> a Sample, or None, for every row; ours first, the contenders last."""
        contenders = [name for experiment, _ in self.rows for name in experiment.contenders]
        series = {name: [sample_of(results, experiment, row.figure, name)
                         for experiment, row in self.rows]
                  for name in [*display_order(results.allocators), *contenders]}
        return {name: samples for name, samples in series.items() if any(samples)}

    def companion(self):
        """The peak RSS of the same runs; None when that is among the rows anyhow."""
        by_command = {}
        for experiment, row in self.rows:
            if any(other.figure == PEAK for other in experiment.rows):
                return None
            name = row.name.rsplit(", ", 1)[0] if len(experiment.rows) > 1 else row.name
            by_command.setdefault(experiment.command,
                                  (experiment, Row(name, "MiB", PEAK, x=row.x)))
        return Chart(self.workload, "Peak RSS", "MiB", list(by_command.values()))

    def draw(self, results, width):
        """None when there is nothing to be drawn."""
        series = self.series(results)
        if not series:
            return None
        if self.is_over_x:
            return draw_lines(self, series, width)
        if self.is_relative and GLIBC in series:
            return draw_relative(self, series, width)
        return draw_bars(self, series, results, width)


def charts_of(experiments):
    charts = {}
    for experiment in experiments:
        for row in experiment.rows:
            key = experiment.workload, row.chart or experiment.workload, row.unit
            charts.setdefault(key, Chart(*key, [])).rows.append((experiment, row))
    for chart in charts.values():
        if chart.is_over_x:
            chart.rows.sort(key=lambda pair: pair[1].x)
    return list(charts.values())


def short_name(row, workload):
    return row.name.removeprefix(workload).strip()


def tick_text(value, _=None):
    for limit, letter in (1e9, "G"), (1e6, "M"), (1e3, "k"):
        if value >= max(limit, 1e4):
            return f"{value / limit:g} {letter}"
    return f"{value:,g}"


def set_scale(axis, samples, log=False, room=1.0):
    """From 0, or logarithmic; `room` is for what is written beyond the largest."""
    low, high = min(sample.low for sample in samples), max(sample.high for sample in samples)
    set_limits = getattr(axis.axes, f"set_{axis.axis_name}lim")
    if log:
        getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
        axis.set_major_locator(LogLocator(subs=(1,) if high / low > 200 else (1, 2, 5),
                                          numticks=20))
        axis.set_minor_locator(NullLocator())
        margin = max((high / low) ** 0.05, 1.02)
        set_limits(low / margin, high * margin)
    else:
        axis.set_major_locator(MaxNLocator(5))
        set_limits(0, high * 1.04 * room or 1)
    axis.set_major_formatter(FuncFormatter(tick_text))


def known(series):
    return [sample for samples in series.values() for sample in samples if sample]


def are_unlike(samples):
    medians = [sample.median for sample in samples]
    return min(sample.low for sample in samples) > 0 and max(medians) > LOG_FROM * min(medians)


def name_rows(axes, names, colours=DAY):
    axes.set_yticks(list(names), names.values(), size=11.5)
    for label in axes.get_yticklabels():
        label.set(**emphasis(label.get_text(), colours))


def spread_out(places, gap, top):
    """Moved as little as can be, the sorted places are a gap apart and between 0 and the top."""
    blocks = []  # (mean of place - index * gap, how many): these must not fall
    for index, place in enumerate(places):
        mean, count = place - index * gap, 1
        while blocks and blocks[-1][0] >= mean:
            before, how_many = blocks.pop()
            mean = (before * how_many + mean * count) / (how_many + count)
            count += how_many
        blocks.append((mean, count))
    room = top - (len(places) - 1) * gap
    level = [min(max(mean, 0), room) for mean, count in blocks for _ in range(count)]
    return [place + index * gap for index, place in enumerate(level)]


def label_ends(figure, axes, ends):
    """Names at the right, each with its marker and a thin line to where its curve ends."""
    ends.sort(key=lambda end: end[2])
    texts = [axes.annotate(name, (x, y), (LABEL, 0), textcoords="axes fraction", va="center",
                           size=11.5, annotation_clip=False, **emphasis(name),
                           arrowprops={"arrowstyle": "-", "color": DAY[style.role], "lw": 0.8,
                                       "alpha": 0.7, "relpos": (0, 0.5), "shrinkA": 12,
                                       "shrinkB": 5})
             for name, x, y, style in ends]
    figure.draw_without_rendering()
    box = axes.get_window_extent()
    wanted = [axes.transData.transform((0, y))[1] - box.y0 for _, _, y, _ in ends]
    for text, place, (_, _, _, style) in zip(texts, spread_out(wanted, 14.5, box.height), ends):
        text.set_position((LABEL, place / box.height))
        axes.plot(LABEL - 8 / box.width, place / box.height, style.marker, ms=5, clip_on=False,
                  color=DAY[style.role], transform=axes.transAxes)


def name_places(axes, chart):
    rows = [row for _, row in chart.rows]
    if chart.is_of_percentiles:
        texts, noun = ["max" if row.x == 100 else f"{row.x:g}" for row in rows], "% of the calls"
    else:
        found = re.search(rf"\b{rows[-1].x:g} (\w+)", rows[-1].name)
        texts, noun = [f"{row.x:g}" for row in rows], found[1] if found else ""
    axes.set_xticks(range(len(texts)), texts)
    axes.set_xlabel("bytes" if noun == "B" else noun)


def draw_lines(chart, series, width):
    """Medians over x, at even distances; a thin upright line from the least to the most."""
    figure = new_figure(width, max(300, 15 * len(series) + 60))
    axes = figure.add_subplot()
    set_scale(axes.yaxis, known(series), are_unlike(known(series)))
    ends = []
    for number, (name, samples) in reversed(list(enumerate(series.items()))):
        style = style_of(name, number)
        points = [(place, sample) for place, sample in enumerate(samples) if sample]
        places, medians = [place for place, _ in points], [sample.median for _, sample in points]
        axes.vlines(places, [sample.low for _, sample in points],
                    [sample.high for _, sample in points], color=DAY[style.role], lw=1, alpha=0.5)
        axes.plot(places, medians, style.line, marker=style.marker, color=DAY[style.role],
                  lw=style.width, ms=7 if name == OWN else 5, clip_on=False)
        ends.append((name, places[-1], medians[-1], style))
    name_places(axes, chart)
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    label_ends(figure, axes, ends)
    return figure


def draw_bar(axes, place, name, style, sample, unit):
    colour = DAY[style.role]
    by_hand = style.role == "contender"
    axes.barh(place, sample.median, 0.72, facecolor="none" if by_hand else colour,
              edgecolor=colour, hatch="////" if by_hand else None, lw=0.8 if by_hand else 0)
    axes.plot([sample.low, sample.high], [place] * 2, lw=1.2, color=DAY["ink"], alpha=0.6)
    axes.annotate(number_text(sample.median, unit) + "~" * sample.noisy, (sample.high, place),
                  (6, 0), textcoords="offset points", va="center", size=11, **emphasis(name))


def draw_bars(chart, series, results, width):
    """A bar for every name, row by row, a thin line from the least to the most over it."""
    height = sum(0.5 + 1.2 * (len(chart.rows) > 1)
                 + sum(bool(samples[index]) or (experiment.command, name) in results.failed
                       for name, samples in series.items())
                 for index, (experiment, _) in enumerate(chart.rows))
    figure = new_figure(width, height * BAR + 40)
    axes = figure.add_subplot()
    set_scale(axes.xaxis, known(series), room=1.2)
    names, place = {}, 0
    for index, (experiment, row) in enumerate(chart.rows):
        if len(chart.rows) > 1:
            axes.text(0, place, short_name(row, chart.workload), va="center", size=11.5,
                      weight="bold")
            place += 1.2
        for number, (name, samples) in enumerate(series.items()):
            if samples[index]:
                draw_bar(axes, place, name, style_of(name, number), samples[index], chart.unit)
            elif (experiment.command, name) in results.failed:
                axes.text(0, place, "  failed", va="center", size=11, color=DAY["muted"])
            else:
                continue
            names[place] = name
            place += 1
        place += 0.5
    axes.set_ylim(place - 0.8, -0.8)
    name_rows(axes, names)
    axes.grid(axis="x")
    axes.spines["bottom"].set_visible(False)
    return figure


def draw_relative(chart, series, width):
    """A line for every row, and on it every allocator's median by glibc's."""
    ratios = {name: [Sample(*[sample.median / base.median] * 3)
                     if sample and base and sample.median and base.median else None
                     for sample, base in zip(samples, series[GLIBC])]
              for name, samples in series.items()}
    ratios = {name: samples for name, samples in ratios.items() if any(samples)}
    figure = new_figure(width, len(chart.rows) * 22 + 50 + 17 * math.ceil(len(ratios) / 3))
    axes = figure.add_subplot()
    set_scale(axes.xaxis, known(ratios), log=True)
    for number, (name, samples) in reversed(list(enumerate(ratios.items()))):
        style = style_of(name, number)
        points = [(sample.median, place) for place, sample in enumerate(samples) if sample]
        axes.plot(*zip(*points), style.marker, color=DAY[style.role], label=name,
                  ms=9 if name == OWN else 6)
    axes.axvline(1, color=DAY["glibc"], lw=1)
    name_rows(axes, {place: short_name(row, chart.workload)
                     for place, (_, row) in enumerate(chart.rows)})
    axes.set_ylim(len(chart.rows) - 0.4, -0.6)
    axes.set_xlabel("times glibc's")
    axes.grid()
    handles, names = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], names[::-1], ncols=3, loc="lower right", bbox_to_anchor=(1, 1),
                frameon=False, fontsize=11)
    return figure

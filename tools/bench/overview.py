# SPDX-License-Identifier: MIT
"""What all rows say together: ratios row by row, means by workload, and the README's picture."""
import math

from allocators import GLIBC, OWN
from charts import Sample, display_order, name_rows, set_scale, short_name
from results import geometric_mean, group_means
from theme import DAY, emphasis, new_figure, set_defaults, style_of

TITLES = {"floor": "Floor", "micro": "Single calls", "W1": "W1 packets",
          "reserve": "Reserved", "W2": "W2 queue",
          "W3": "W3 rationals", "W4": "W4 exchange", "W5": "W5 ring", "W6": "W6 programs",
          "W7": "W7 latency", "burst": "Bursts", "checks": "Heap checks", "mixed": "Mixed sizes",
          "memory": "Memory used"}
LOSS = 1 / 1.01  # the ratio that results.find_losses begins at


def title_of(workload):
    return TITLES.get(workload, workload)


def speeds_of(record):
    """Workload -> {allocator: times as fast as glibc}; "memory": glibc's divided by theirs."""
    results = record.results
    speeds = {workload: {name: 1 / mean for name, mean in means.items()}
              for workload, means in group_means(results, record.experiments).items()}
    rows = [(experiment, row.figure) for experiment in record.experiments
            if experiment.workload == "memory" for row in experiment.rows]
    for name in results.allocators:
        pairs = [(results.median(*row, GLIBC), results.median(*row, name)) for row in rows]
        if pairs and all(base and value for base, value in pairs):
            speeds.setdefault("memory", {})[name] = geometric_mean(
                [base / value for base, value in pairs])
    return speeds


def draw_speeds(axes, speeds, names, colours):
    top = max(speeds.values())
    for place, name in enumerate(names):
        speed = speeds.get(name, 0)
        axes.barh(place, speed, 0.72, color=colours[style_of(name).role],
                  alpha=1 if name == OWN else 0.75)
        text = f"{speed:.{2 if speed < 1 else int(speed < 10)}f}×" if speed else "a row failed"
        axes.text(speed + top * 0.035, place, text, va="center", size=10.5,
                  bbox={"facecolor": colours["paper"], "linewidth": 0, "pad": 0.4},
                  **emphasis(name, colours))
    axes.axvline(1, color=colours["glibc"], lw=1, ls=":", zorder=2)
    axes.set(xlim=(0, top * 1.35), ylim=(len(names) - 0.5, -0.5), xticks=[])
    name_rows(axes, dict(enumerate(names)), colours)
    axes.spines["bottom"].set_visible(False)


def draw_mean(speeds, width):
    figure = new_figure(width, 16 * len(speeds) + 8)
    draw_speeds(figure.add_subplot(), speeds, display_order(speeds), DAY)
    return figure


def ratios_of(record):
    """Workload -> [(row's name, ratio to glibc, to the best peer)]; over 1 we are ahead."""
    ratios = {}
    for experiment in record.experiments:
        for row in experiment.rows:
            peer, _ = record.results.best_peer(experiment, row.figure)
            pair = [record.results.ratio(experiment, row.figure, name) for name in (GLIBC, peer)]
            if any(pair):
                ratios.setdefault(experiment.workload, []).append(
                    (short_name(row, experiment.workload), *pair))
    return ratios


def draw_ratios(rows, low, high, width):
    """A line for every row: a square for glibc, a point for the best peer; losses stand out."""
    height = 16 * len(rows) + 24
    figure = new_figure(width, height)
    figure.set_layout_engine("none")  # the axes of most panels are in line
    left = max(0.41, max(len(name) for name, _, _ in rows) * 6.5 / width)
    axes = figure.add_axes((left, 22 / height, 0.98 - left, 1 - 24 / height))
    set_scale(axes.xaxis, [Sample(low, low, high)], log=True)
    for place, (_, *pair) in enumerate(rows):
        for ratio, marker, size in zip(pair, "so", (5, 7)):
            if ratio:
                colour = DAY["loss" if ratio < LOSS else "own"]
                axes.plot(ratio, place, marker, ms=size, color=colour,
                          mfc=DAY["paper"] if marker == "s" else colour)
    axes.axvline(1, color=DAY["ink"], lw=1, zorder=1)
    name_rows(axes, {place: name for place, (name, _, _) in enumerate(rows)})
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid()
    return figure


def draw_picture(record, colours, path):
    """1600 x 1000 pixels for half that width: a panel a workload, times as fast as glibc."""
    set_defaults(colours)
    speeds, machine = speeds_of(record), record.machine
    figure = new_figure(800, 500)
    figure.get_layout_engine().set(rect=(0.005, 0.055, 0.99, 0.82), wspace=0.03, hspace=0.06)
    panels = figure.subplots(2, math.ceil(len(speeds) / 2), sharey=True, squeeze=False).flatten()
    for (workload, by_name), axes in zip(speeds.items(), panels):
        draw_speeds(axes, by_name, display_order(record.allocators), colours)
        axes.set_title(title_of(workload), loc="left", size=11.5, weight="bold")
    for axes in panels[len(speeds):]:
        axes.set_axis_off()
    figure.text(0.012, 0.975, "Times as fast as glibc: more is better", size=17, weight="bold",
                va="top")
    figure.text(0.012, 0.915, "Geometric mean over the rows of each workload; the dotted line is "
                "glibc, each panel has its own scale."
                + " Memory used: glibc's divided by theirs." * ("memory" in speeds),
                size=10.5, va="top", color=colours["muted"])
    figure.text(0.012, 0.02, f"{machine['cpu']}, {machine['cpus']} CPUs, Linux "
                f"{machine['kernel']}, {machine['glibc']}, {machine['date'][:10]}, "
                f"{record.rounds_done} of {record.rounds} rounds", size=10, color=colours["muted"])
    figure.savefig(path, dpi=144, facecolor=colours["paper"], metadata={"Software": None})

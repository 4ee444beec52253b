# SPDX-License-Identifier: MIT
"""The record as text: losses first, then the tables, means and targets."""
from allocators import GLIBC, OWN
from results import NOISY, PROCESS_FIGURES, find_losses, group_means

LEGEND = f"""\
Medians; less is better in every row. ~: (max - min) / median is over {NOISY:.0%}.
vs glibc, vs peer: the value of glibc, of the best peer, divided by {OWN}'s: over 1 is a win."""


def number_text(value, unit):
    digits = 0 if unit == "" or value >= 1000 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}"


def value_text(results, experiment, row, name):
    if (experiment.command, name) in results.failed:
        return "failed "
    value = results.median(experiment, row.figure, name)
    if value is None:
        return "- "
    noisy = results.spread(experiment, row.figure, name) > NOISY
    return number_text(value, row.unit) + ("~" if noisy else " ")


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio else "-"


def print_machine(record):
    machine = record.machine
    print(f"{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, "
          f"{machine['glibc']}, load at start {machine['load']:.1f}\n"
          f"commit {machine['commit']}, {machine['date']}, {record.seconds:.0f} s, "
          f"{record.rounds_done} of {record.rounds} rounds")
    print(", ".join(f"{name} {allocator.version}" for name, allocator in record.allocators.items()))


def print_losses(record):
    losses = find_losses(record.results, record.experiments)
    print_failures(record)
    print(f"\nLosses: {len(losses)}" + (", the worst first" if losses else ""))
    for loss in losses:
        noise = "" if loss.beyond_noise else "   (the samples overlap)"
        print(f"  {loss.row.name:40} {loss.times:5.2f} x {loss.other}{noise}")


def print_table(record):
    results = record.results
    columns = {name: max(9, len(name) + 1) for name in record.allocators}
    print(f"\n{'workload':40} {'unit':4}"
          + "".join(f"{name:>{width}}" for name, width in columns.items())
          + f"{'vs glibc':>9}{'vs peer':>8}")
    workload = None
    for experiment in record.experiments:
        if experiment.workload != workload:
            workload = experiment.workload
            print()
        for row in experiment.rows:
            peer, _ = results.best_peer(experiment, row.figure)
            print(f"{row.name:40} {row.unit:4}"
                  + "".join(f"{value_text(results, experiment, row, name):>{width}}"
                            for name, width in columns.items())
                  + f"{ratio_text(results.ratio(experiment, row.figure, GLIBC)):>9}"
                  + f"{ratio_text(results.ratio(experiment, row.figure, peer)):>8}")
            for name in experiment.contenders:
                print(f"  {'> ' + name:38} {row.unit:4}"
                      f"{value_text(results, experiment, row, name):>9}")
    print()
    print(LEGEND)


def print_process_figures(record):
    """CPU time, memory and faults beside the time: glibc, best peer, ours."""
    results = record.results
    print(f"\n{'beside the time: glibc / best peer / ' + OWN:40}"
          + "".join(f"{figure:>22}" for figure in PROCESS_FIGURES))
    for experiment in record.experiments:
        cells = []
        for figure, unit in PROCESS_FIGURES.items():
            values = [results.median(experiment, figure, GLIBC),
                      results.best_peer(experiment, figure)[1],
                      results.median(experiment, figure, OWN)]
            cells.append("/".join("-" if value is None else number_text(value, unit)
                                  for value in values))
        print(f"{experiment.rows[0].name:40}" + "".join(f"{cell:>22}" for cell in cells))


def print_means(record):
    means = group_means(record.results, record.experiments)
    print(f"\n{'geometric mean of time / glibc':40}"
          + "".join(f"{name:>{max(9, len(name) + 1)}}" for name in record.allocators))
    for workload, by_name in means.items():
        print(f"{workload:40}" + "".join(
            f"{ratio_text(by_name.get(name)):>{max(9, len(name) + 1)}}"
            for name in record.allocators))


def print_targets(record):
    if record.targets:
        print("\ntargets")
    for line in record.targets:
        verdict = {True: "reached", False: "MISSED", None: "not measured"}[line["reached"]]
        value = "-" if line["value"] is None else f"{line['value']:.2f}"
        print(f"  {line['target']:72} {value:>9}, {line['bound']:16} {verdict}")


def print_failures(record):
    if record.results.failed:
        print("\nfailed")
    for (command, name), why in record.results.failed.items():
        print(f"  {command} under {name}: {why}")


def print_report(record):
    print_machine(record)
    print_losses(record)
    print_table(record)
    print_process_figures(record)
    print_means(record)
    print_targets(record)

"""The picture: some seconds of the API for each gateway, of its fixed second on the left and of its sliding one on the right."""

from collections.abc import Iterable
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes

from lab.pace.api import LIMIT
from lab.pace.limits import OBEYS, RATE, WINDOWS, WITHOUT, Limited
from lab.picture import BLUE, RED, save

ROWS = (WITHOUT, OBEYS, RATE)
BEGIN, END = 20, 30
"""Seconds that are drawn, of those that were measured."""
BARS = 10
"""Per second."""


def draw(path: Path, runs: Iterable[Limited]) -> None:
    found = {(run.window, run.name): run for run in runs}
    figure, panels = pyplot.subplots(len(ROWS), len(WINDOWS), sharex=True, sharey=True, figsize=(12, 7))
    for row, name in zip(panels, ROWS):
        for panel, window in zip(row, WINDOWS):
            strip(panel, found[window, name])
    for panel, window in zip(panels[0], WINDOWS):
        panel.annotate(f"{LIMIT} in a {window} second", (0.5, 1.22), xycoords="axes fraction", ha="center", fontsize=13)
    for panel in panels[-1]:
        panel.set_xlabel("seconds")
    # All panels share it, so that it is known only now.
    panels[0][0].set_ylim(bottom=0)
    panels[1][0].set_ylabel(f"attempts at the API in {1 / BARS:g} s", fontsize=10)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="upper center", ncols=3, frameon=False)
    save(figure, path, top=0.97)


def strip(panel: Axes, run: Limited) -> None:
    good, limited = (counts(run, kind) for kind in (True, False))
    left = [BEGIN + number / BARS for number in range(len(good))]
    panel.bar(left, good, 0.9 / BARS, align="edge", color=BLUE, label="good", linewidth=0)
    panel.bar(left, limited, 0.9 / BARS, bottom=good, align="edge", color=RED, label="429", linewidth=0)
    panel.axhline(LIMIT / BARS, color="black", linewidth=0.8, linestyle="--", label=f"{LIMIT} per second")
    share = run.limited / run.bounds.seconds
    panel.set_title(f"{run.name}: {run.good:.0f} good answers and {share:.1f} × 429 in a second", fontsize=10)
    panel.set_xlim(BEGIN, END)
    panel.grid(axis="y", alpha=0.25)


def counts(run: Limited, good: bool) -> list[int]:
    """The attempts that came in each bar's time and were answered so."""
    found = [0] * ((END - BEGIN) * BARS)
    for hit in run.hits:
        if hit.good == good and BEGIN <= hit.came < END:
            found[min(int((hit.came - BEGIN) * BARS), len(found) - 1)] += 1
    return found

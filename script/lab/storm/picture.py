"""The picture: a column for one layer and one for three, a colour for runs with the budget and one for the others."""

from collections.abc import Callable
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from lab.picture import BLUE, RED, SHADE, curve, save
from lab.storm.run import RATE, Run, Sample
from lab.storm.timeline import BACK, BROWN_OUT, OFF, PAGED, RECOVERY, RESOLVED, STORM, TICKET, Event, Timeline, clock

COLOURS = {False: RED, True: BLUE}
PENDING, FIRING = 0.3, 0.9
"""Opacity of bars."""
SCALES: dict[int, tuple[float, float, dict[float, str]]] = {
    0: (0.9, 80, {tick: f"{tick}×" for tick in (1, 2, 4, 8, 16, 32, 64)}),
    2: (0.03, 15, {0.05: "50 ms", 0.1: "100 ms", 0.5: "500 ms", 1: "1 s", 5: "5 s", 10: "10 s"}),
}
"""Logarithmic scales of panels: bottom, top and ticks."""


def draw(path: Path, runs: list[Run], timeline: Timeline, zero: int, end: int, point: int) -> None:
    layers = sorted({run.setup.layers for run in runs})
    alerts = shown_alerts(timeline, runs)
    figure, panels = pyplot.subplots(
        5,
        len(layers),
        sharex=True,
        squeeze=False,
        figsize=(12, 12.5 + 0.3 * len(alerts)),
        height_ratios=[1.25, 1, 1, 0.8, 0.3 + 0.25 * len(alerts)],
    )
    for column, count in zip(panels.T, layers):
        of_column = [run for run in runs if run.setup.layers == count]
        for run in of_column:
            draw_curves(column, run, zero, end, point)
        draw_alerts(column[4], of_column, alerts, timeline, end - zero)
        column[0].set_title(f"{count} layer{'s' if count > 1 else ''} of retries", fontsize=13)
        for panel in column:
            mark_phases(panel, of_column, timeline)
            panel.grid(axis="y", alpha=0.25)
            panel.set_xlim(0, end - zero)
        step = next(step for step in (10, 20, 60, 120, 300) if (end - zero) / step < 13)
        ticks = range(0, end - zero + 1, step)
        column[4].set_xticks(ticks, [clock(tick) for tick in ticks], fontsize=8)
    label(panels, alerts)
    figure.legend(handles=legend(), loc="upper center", ncols=4, frameon=False, fontsize=10)
    save(figure, path, top=0.955)


def draw_curves(column: list[Axes], run: Run, zero: int, end: int, point: int) -> None:
    seconds = range(0, end - zero - point + 1, point)
    samples = [run.between(zero + second, zero + second + point) for second in seconds]
    values: list[Callable[[Sample], float | None]] = [
        lambda sample: sample.amplification or None,
        lambda sample: sample.good / point,
        lambda sample: sample.p99 or None,
        lambda sample: sample.budget,
    ]
    for panel, value in zip(column, values):
        colour, order = COLOURS[run.setup.bounded], 3 if run.setup.bounded else 2
        curve(panel, [second + point / 2 for second in seconds], map(value, samples), colour, zorder=order)


def label(panels: list[list[Axes]], alerts: list[str]) -> None:
    titles = (
        "attempts at the origin\nper request of the callers",
        f"goodput: good answers/s\nof {RATE:g} requests/s",
        "p99 latency of callers",
        "retries that the\nemptiest budget would grant",
        "",
    )
    for number, (row, title) in enumerate(zip(panels, titles)):
        row[0].set_ylabel(title, fontsize=10)
        top = max(panel.get_ylim()[1] for panel in row)
        for panel in row:
            if number in SCALES:
                bottom, ceiling, ticks = SCALES[number]
                panel.set_yscale("log")
                panel.set_ylim(bottom, ceiling)
                panel.set_yticks(list(ticks), list(ticks.values()))
                panel.minorticks_off()
            elif number < 4:
                panel.set_ylim(0, top)
    for panel, name in zip(panels[-1], [alerts] + [[""] * len(alerts)] * len(panels[-1])):
        panel.set_yticks(range(len(alerts)), name, fontsize=9)
        panel.set_ylim(len(alerts) - 0.4, -0.6)
        panel.grid(visible=False)


def shown_alerts(timeline: Timeline, runs: list[Run]) -> list[str]:
    """The storm's alert first, then the others in the order in which the webhook received them."""
    names = {run.setup.name for run in runs}
    heard = [event.alert for event in timeline.events if event.what in (PAGED, TICKET) and event.run in names]
    return list(dict.fromkeys([STORM, *heard]))


def draw_alerts(panel: Axes, runs: list[Run], alerts: list[str], timeline: Timeline, end: float) -> None:
    for run in runs:
        for row, alert in enumerate(alerts):
            events = [event for event in timeline.events if event.run == run.setup.name and event.alert == alert]
            centre = row + (0.19 if run.setup.bounded else -0.19)
            for begin, duration, opacity in bars(events, end):
                panel.barh(centre, duration, 0.34, begin, color=COLOURS[run.setup.bounded], alpha=opacity, linewidth=0)
            for event in events:
                if event.what in (PAGED, TICKET, RESOLVED):
                    shape = "o" if event.what == RESOLVED else "v"
                    panel.plot(event.at, centre, shape, color="black", markersize=6, markerfacecolor="white", zorder=4)


def bars(events: list[Event], end: float) -> list[tuple[float, float, float]]:
    """Begin, duration and opacity."""
    states = [event for event in events if event.what in ("pending", "firing", "inactive")]
    ends = [event.at for event in states[1:]] + [end]
    return [
        (event.at, until - event.at, PENDING if event.what == "pending" else FIRING)
        for event, until in zip(states, ends)
        if event.what != "inactive"
    ]


def mark_phases(panel: Axes, runs: list[Run], timeline: Timeline) -> None:
    began, recovered = timeline.first(BROWN_OUT), timeline.first(RECOVERY)
    if began is not None and recovered is not None:
        panel.axvspan(began, recovered, color=SHADE, zorder=0)
    for run in runs:
        off, back = (timeline.first(what, run.setup.name) for what in (OFF, BACK))
        if off is not None and back is not None:
            panel.axvspan(
                off, back, facecolor="none", edgecolor=COLOURS[run.setup.bounded], hatch="////", alpha=0.35, zorder=0
            )


def legend() -> list[Line2D | Patch]:
    return [
        Line2D([], [], color=COLOURS[False], linewidth=2.5, label="without budget"),
        Line2D([], [], color=COLOURS[True], linewidth=2.5, label="with the default budget"),
        Patch(color=SHADE, label="brown-out"),
        Patch(facecolor="none", edgecolor=COLOURS[False], hatch="////", alpha=0.5, label="callers taken off"),
        Patch(color="black", alpha=PENDING, linewidth=0, label="alert pending"),
        Patch(color="black", alpha=FIRING, linewidth=0, label="alert firing"),
        Line2D([], [], color="black", marker="v", markerfacecolor="white", linestyle="", label="alert at the webhook"),
        Line2D([], [], color="black", marker="o", markerfacecolor="white", linestyle="", label="alert resolved there"),
    ]

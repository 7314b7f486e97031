"""The picture: an overload over time, with a curve for weir without load control, for weir with it, and for haproxy
that is set up by hand."""

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes

from calls import GAVE_UP, Call, count, quantile
from gateways import HAPROXY, OFF, WEIR
from lane import Outcome
from load import Load
from models import Phase
from rows import Row

BEGIN, END, UNTIL = 10, 50, 75
CAPACITY = 40
ROW = Row(
    "picture",
    "20/s, 40 s of 60/s, 20/s",
    Load(rates=((0, 20), (BEGIN, 60), (END, 20)), until=UNTIL),
    (Phase(),),
    window=(BEGIN + 10, END),
    fault=(BEGIN, END),
    shows=("good", "again"),
)
GATEWAYS = (OFF, WEIR, HAPROXY)
COLOURS = {OFF: "#c8402f", WEIR: "#1f6f9f", HAPROXY: "#8a8578"}
TITLES = {OFF: "weir, overload: off", WEIR: "weir as it comes", HAPROXY: "haproxy, set up by hand"}
SHADE = "#ece7dc"


def draw(path: Path, outcomes: dict[str, Outcome]) -> None:
    # Without these, each run's file would differ in its identifiers and its date.
    matplotlib.rcParams["svg.hashsalt"] = "weir"
    figure, panels = pyplot.subplots(4, 1, sharex=True, figsize=(9, 9), height_ratios=[0.8, 1, 1, 1])
    offered(panels[0], next(iter(outcomes.values())).calls)
    for name, outcome in outcomes.items():
        calls = outcome.calls
        curve(panels[1], name, lambda at: float(count(calls, lambda call: call.good and ended_in(call, at))))
        curve(panels[2], name, lambda at: float(count(calls, lambda call: call.refused and ended_in(call, at))))
        gave_up(panels[2], name, calls)
        curve(panels[3], name, lambda at: quantile((call.took for call in calls if ended_in(call, at)), 0.99))
    label(panels)
    figure.legend(*panels[1].get_legend_handles_labels(), loc="upper center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.965))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def ended_in(call: Call, second: int) -> bool:
    return second <= call.ended < second + 1


def offered(panel: Axes, calls: list[Call]) -> None:
    panel.plot(
        [at + 0.5 for at in range(UNTIL)],
        [count(calls, lambda call: at <= call.due < at + 1) for at in range(UNTIL)],
        color="black",
        linewidth=1.4,
    )


def curve(panel: Axes, name: str, value: Callable[[int], float | None]) -> None:
    values = [value(at) for at in range(UNTIL)]
    panel.plot(
        [at + 0.5 for at in range(UNTIL)],
        [float("nan") if one is None else one for one in values],
        color=COLOURS[name],
        linewidth=1.8,
        label=TITLES[name],
        zorder=3 if name == WEIR else 2,
    )


def gave_up(panel: Axes, name: str, calls: list[Call]) -> None:
    panel.plot(
        [at + 0.5 for at in range(UNTIL)],
        [count(calls, lambda call: call.status == GAVE_UP and ended_in(call, at)) for at in range(UNTIL)],
        color=COLOURS[name],
        linewidth=1.2,
        linestyle=":",
    )


def label(panels: list[Axes]) -> None:
    titles = (
        "requests/s",
        "good answers/s",
        "refused/s\n(dotted: callers\nwho gave up)",
        "p99 until a caller\nhears or gives up",
    )
    for panel, title in zip(panels, titles):
        panel.set_ylabel(title, fontsize=10)
        panel.axvspan(BEGIN, END, color=SHADE, zorder=0)
        panel.grid(axis="y", alpha=0.25)
        panel.set_xlim(0, UNTIL)
        panel.set_ylim(bottom=0)
    for panel in panels[:2]:
        panel.axhline(CAPACITY, color="black", linewidth=0.8, linestyle="--")
        panel.text(UNTIL - 0.5, CAPACITY + 1, "capacity", fontsize=8, ha="right")
        panel.set_ylim(top=85)
    panels[1].set_ylim(top=50)
    panels[3].set_ylim(0, 2.2)
    panels[3].set_yticks([0, 0.5, 1, 1.5, 2], ["0", "0.5 s", "1 s", "1.5 s", "2 s"])
    panels[3].set_xlabel("seconds")

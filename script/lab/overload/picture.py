"""The picture: an overload over time, with a curve for weir without load control, for weir with it, and for haproxy
that is set up by hand."""

from collections.abc import Callable
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes

from lab.load import GAVE_UP, Call, count, quantile
from lab.models import Phase
from lab.overload.callers import Load
from lab.overload.figures import Outcome
from lab.overload.gateways import HAPROXY, OFF, WEIR
from lab.overload.rows import Row
from lab.picture import BLUE, GREY, RED, SHADE, curve, save

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
COLOURS = {OFF: RED, WEIR: BLUE, HAPROXY: GREY}
TITLES = {OFF: "weir, overload: off", WEIR: "weir as it comes", HAPROXY: "haproxy, set up by hand"}


def draw(path: Path, outcomes: dict[str, Outcome]) -> None:
    figure, panels = pyplot.subplots(4, 1, sharex=True, figsize=(9, 9), height_ratios=[0.8, 1, 1, 1])
    times = [second + 0.5 for second in range(UNTIL)]

    def each(value: Callable[[int], float | None]) -> list[float | None]:
        return [value(second) for second in range(UNTIL)]

    def counted(calls: list[Call], kind: Callable[[Call], bool]) -> list[float | None]:
        return each(lambda second: count(calls, lambda call: kind(call) and ended_in(call, second)))

    came = next(iter(outcomes.values())).calls
    curve(panels[0], times, each(lambda at: count(came, lambda call: at <= call.due < at + 1)), "black", linewidth=1.4)
    for name, outcome in outcomes.items():
        calls, colour = outcome.calls, COLOURS[name]
        style = {"label": TITLES[name], "zorder": 3 if name == WEIR else 2}
        curve(panels[1], times, counted(calls, lambda call: call.good), colour, **style)
        curve(panels[2], times, counted(calls, lambda call: call.refused), colour, **style)
        gave_up = counted(calls, lambda call: call.status == GAVE_UP)
        curve(panels[2], times, gave_up, colour, linewidth=1.2, linestyle=":")
        p99 = each(lambda at: quantile((call.took for call in calls if ended_in(call, at)), 0.99))
        curve(panels[3], times, p99, colour, **style)
    label(panels)
    figure.legend(*panels[1].get_legend_handles_labels(), loc="upper center", ncols=3, frameon=False)
    save(figure, path, top=0.965)


def ended_in(call: Call, second: int) -> bool:
    return second <= call.ended < second + 1


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

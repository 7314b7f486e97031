"""The common part of the drawings."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
# Without this, and with a date, the files of two runs would differ.
matplotlib.rcParams["svg.hashsalt"] = "weir"
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RED, BLUE, GREY = "#c8402f", "#1f6f9f", "#8a8578"
SHADE = "#ece7dc"
"""The background of a fault's time."""


def curve(panel: Axes, times: Iterable[float], values: Iterable[float | None], colour: str, **more: Any) -> None:
    """Without a line where there is no value."""
    drawn = [float("nan") if value is None else value for value in values]
    panel.plot(list(times), drawn, color=colour, **{"linewidth": 1.8, **more})


def save(figure: Figure, path: Path, top: float) -> None:
    """`top` is the share of the height below the legend."""
    figure.tight_layout(rect=(0, 0, 1, top))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, metadata={"Date": None} if path.suffix == ".svg" else None)

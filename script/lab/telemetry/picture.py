"""The picture of docs/telemetry.md: the spans of one request at an upstream that is down."""

from pathlib import Path

from matplotlib.figure import Figure

from lab.picture import BLUE, GREY, RED, save
from lab.telemetry.collector import Span

PICTURE = Path("docs/images/trace.png")


def draw(spans: list[Span]) -> None:
    """A bar for each span, in the order of their beginnings; those that failed are red."""
    spans = sorted(spans, key=lambda span: span.start)
    zero = spans[0].start
    figure = Figure(figsize=(8, 2.4))
    panel = figure.subplots()
    for row, span in enumerate(spans):
        begin, end = ((time - zero) / 1e6 for time in (span.start, span.end))
        colour = GREY if not row else RED if "error.type" in span.attributes else BLUE
        panel.barh(row, max(end - begin, 2), left=begin, color=colour, height=0.6)
        words = [span.name, str(span.attributes.get("error.type", ""))]
        panel.text(max(end, begin + 2) + 3, row, " ".join(words), va="center", fontsize=8)
    panel.set_ylim(len(spans) - 0.4, -0.6)
    panel.set_yticks([])
    panel.set_xlim(0, (spans[0].end - zero) / 1e6 * 1.45)
    panel.set_xlabel("milliseconds")
    for side in ("left", "right", "top"):
        panel.spines[side].set_visible(False)
    save(figure, PICTURE, 1)

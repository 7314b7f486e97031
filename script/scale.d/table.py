"""The figures of a size, as lines, and the bounds."""

from collections.abc import Iterator

from watched import SCRAPE, Figures

ALL_RULES, ALERTS = 5.0, 1.0
"""Seconds of the evaluations between two scrapes."""
MEMORY, SERIES = 6 << 30, 900_000
"""Bytes for so many series."""


def lines(size: str, targets: int, figures: Figures) -> Iterator[str]:
    value = figures.values
    yield (
        f"{size}: {value['head series']:,.0f} series in Prometheus, {value['series']:,.0f} on a page; a page has"
        f" {value['plain'] / 1000:,.0f} KB, compressed {value['gzip'] / 1000:,.1f} KB"
    )
    yield (
        f"{size}: a scrape takes {value['scrape p50'] * 1000:.0f} ms, p99 {value['scrape p99'] * 1000:.0f} ms;"
        f" {value['kept']:,.0f} of {value['scraped']:,.0f} series are kept"
    )
    yield (
        f"{size}: in {SCRAPE} s all rules take {figures.all_rules():.2f} s, of which alerts {figures.alerts():.2f} s;"
        f" {value['missed']:.0f} evaluations were left out"
    )
    for name, rules in [*figures.groups.items(), *figures.dearest(8)]:
        least, most = min(rules.seconds), max(rules.seconds)
        yield f"{size}:   {rules.median:7.3f} s ({least:.3f} to {most:.3f}) every {rules.interval:.0f} s: {name}"
    yield (
        f"{size}: Prometheus has {value['resident'] / 1e9:.2f} GB, at most {value['peak'] / 1e9:.2f} GB,"
        f" {value['peak'] / value['head series']:,.0f} bytes for a series"
    )
    rules = (value["cpu"] - value["scraping"]) * SCRAPE
    yield (
        f"{size}: processor time: {value['cpu']:.2f} s per second, of which scrapes {value['scraping']:.2f} s;"
        f" rules {rules:.1f} s in {SCRAPE} s"
    )


def held(figures: Figures) -> Iterator[tuple[str, bool]]:
    """Each bound, and whether it is held.

    >>> from watched import Rules
    >>> slow, quick = Rules(15, [1.0, 7.0, 7.5]), Rules(60, [2.0])
    >>> values = {"peak": 1e10, "head series": 1_800_000}
    >>> for bar, holds in held(Figures({"a": slow}, {"alerting b (a 1)": quick}, values)):
    ...     print(bar, holds)
    all rules in 7.00 s, not 5 s False
    alerts in 0.50 s, not 1 s True
    5.0 GB for 900,000 series, not 6.4 GB True
    """
    rules, alerts = figures.all_rules(), figures.alerts()
    memory = figures.values["peak"] / figures.values["head series"] * SERIES
    yield f"all rules in {rules:.2f} s, not {ALL_RULES:.0f} s", rules < ALL_RULES
    yield f"alerts in {alerts:.2f} s, not {ALERTS:.0f} s", alerts < ALERTS
    yield f"{memory / 1e9:.1f} GB for {SERIES:,} series, not {MEMORY / 1e9:.1f} GB", memory < MEMORY

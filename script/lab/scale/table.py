"""The figures of a size, as lines, and the bounds."""

from collections.abc import Iterator

from lab.scale.watched import SCRAPE, Figures

SERIES = 900_000
ALL_RULES, ALERTS, MEMORY = 5.0, 1.0, 6 << 30
"""The bounds for so many series: seconds of the evaluations between two scrapes, and bytes."""


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

    >>> from lab.scale.watched import Rules
    >>> slow, quick = Rules(15, [2.0, 14.0, 15.0]), Rules(60, [4.0])
    >>> values = {"peak": 1e10, "head series": 1_800_000}
    >>> for bar, holds in held(Figures({"a": slow}, {"alerting b (a 1)": quick}, values)):
    ...     print(bar, holds)
    900,000 series: all rules in 7.00 s, not 5 s False
    900,000 series: alerts in 0.50 s, not 1 s True
    900,000 series: 5.0 GB, not 6.4 GB True
    """
    share = SERIES / figures.values["head series"]
    rules, alerts, peak = (value * share for value in (figures.all_rules(), figures.alerts(), figures.values["peak"]))
    yield f"{SERIES:,} series: all rules in {rules:.2f} s, not {ALL_RULES:.0f} s", rules < ALL_RULES
    yield f"{SERIES:,} series: alerts in {alerts:.2f} s, not {ALERTS:.0f} s", alerts < ALERTS
    yield f"{SERIES:,} series: {peak / 1e9:.1f} GB, not {MEMORY / 1e9:.1f} GB", peak < MEMORY

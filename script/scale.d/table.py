"""The figures of a size, as lines, and the bounds."""

from collections.abc import Iterator

from watched import Figures

ALL_RULES, ALERTS, MEMORY = 5.0, 1.0, 6 << 30
"""Seconds of an evaluation, and bytes, of a million series and more."""


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
        f"{size}: all rules take {figures.all_rules():.2f} s, of which alerts {figures.alerts():.2f} s;"
        f" {value['missed']:.0f} evaluations were left out"
    )
    for name, seconds in figures.groups.items():
        yield f"{size}:   {figures.group(name):7.3f} s {name} ({min(seconds):.3f} to {max(seconds):.3f})"
    for seconds, name in figures.dearest(8):
        yield f"{size}:   {seconds:7.3f} s {name}"
    yield (
        f"{size}: Prometheus has {value['resident'] / 1e9:.2f} GB, at most {value['peak'] / 1e9:.2f} GB,"
        f" {value['peak'] / value['head series']:,.0f} bytes for a series; {value['cpu']:.2f} s of processor time per second"
    )


def held(figures: Figures) -> Iterator[tuple[str, bool]]:
    """Each bound, and whether it is held.

    >>> figures = Figures({"a": [1.0, 7.0, 7.5]}, {"alerting b (a 1)": [0.5]}, {"peak": 1e9})
    >>> list(held(figures))
    [('all rules in 7.00 s, not 5 s', False), ('alerts in 0.50 s, not 1 s', True), ('1.0 GB, not 6.4 GB', True)]
    """
    rules, alerts, peak = figures.all_rules(), figures.alerts(), figures.values["peak"]
    yield f"all rules in {rules:.2f} s, not {ALL_RULES:.0f} s", rules < ALL_RULES
    yield f"alerts in {alerts:.2f} s, not {ALERTS:.0f} s", alerts < ALERTS
    yield f"{peak / 1e9:.1f} GB, not {MEMORY / 1e9:.1f} GB", peak < MEMORY

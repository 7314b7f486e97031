"""Gives Prometheus a past: blocks with as many hours of the series as the rules look back, so that the rules cost as
much as they do after a day and not as little as after minutes."""

import re
from collections.abc import Iterator
from pathlib import Path

from lab.gateway import LABEL, Page
from lab.processes import Failure, output
from lab.scale.expressions import Rule, selectors
from lab.scale.watched import SCRAPE

BLOCK = 7200
"""Seconds of Prometheus' blocks, which begin at multiples of this."""
TEMPLATE = 60
"""Seconds in which the counts of the page came to be, as for the simulated targets."""
PAST = 1500
"""Minutes that the counts have grown for; more than a day."""

Series = tuple[str, dict[str, str], float]


def series_of(page: Page) -> Iterator[Series]:
    """
    >>> list(series_of(Page('# TYPE a counter\\na{b="c"} 2\\n')))
    [('a', {'b': 'c'}, 2.0)]
    """
    for line in page.text.splitlines():
        if not line.startswith("#"):
            text, _, value = line.rpartition(" ")
            yield text.partition("{")[0], dict(LABEL.findall(text)), float(value)


def looked_at(page: list[Series], every: list[Rule]) -> dict[int, list[Series]]:
    """The series of a page by the seconds for which the rules look back at them, where they do.

    >>> page = [("weir_a_total", {"x": "1"}, 5.0), ("weir_a_total", {"x": "2"}, 6.0)]
    >>> looked_at(page, [Rule("r", 'rate(weir_a_total{x="1"}[5m]) / rate(weir_a_total[2m])')])
    {300: [('weir_a_total', {'x': '1'}, 5.0)], 120: [('weir_a_total', {'x': '2'}, 6.0)]}
    """
    found: dict[int, list[Series]] = {}
    wanted = [s for rule in every for s in selectors(rule.expression) if s.window]
    for series in [*page, *recorded(page, every)]:
        windows = [s.window for s in wanted if s.metric == series[0] and s.matches(series[1])]
        if windows:
            found.setdefault(max(windows), []).append(series)
    return found


def recorded(page: list[Series], every: list[Rule]) -> Iterator[Series]:
    """The series by instance that rules record of counters, as sums.

    >>> page = [("weir_a_total", {"x": "1", "y": "1"}, 1.0), ("weir_a_total", {"x": "1", "y": "2"}, 2.0)]
    >>> list(recorded(page, [Rule("job_instance_x:a:sum", "sum by (job, instance, x) ( weir_a_total )")]))
    [('job_instance_x:a:sum', {'x': '1'}, 3.0)]
    """
    for rule in every:
        inner = re.fullmatch(r"sum by \(job, instance, ([^)]*)\) \(\s*(\w+(?:\{[^}]*\})?)\s*\)", rule.expression)
        if not rule.name.startswith("job_instance_") or not inner:
            continue
        labels, selector = inner[1].split(", "), next(selectors(inner[2]))
        sums: dict[tuple[str, ...], float] = {}
        for name, values, value in page:
            if name == selector.metric and selector.matches(values):
                key = tuple(values.get(label, "") for label in labels)
                sums[key] = sums.get(key, 0) + value
        for key, value in sums.items():
            yield rule.name, dict(zip(labels, key)), value


def head(series: Series, instance: str) -> str:
    """
    >>> head(("a", {"b": "c"}, 1.0), "i:1")
    'a{job="weir",instance="i:1",b="c"} '
    """
    labels = {"job": "weir", "instance": instance, **series[1]}
    return series[0] + "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "} "


async def write(page: Page, every: list[Rule], instances: list[str], now: int, directory: Path) -> int:
    """Writes it into the directory of a Prometheus. Returns the number of samples."""
    past = looked_at(list(series_of(page)), every)
    samples = 0
    text, storage = directory / "history.txt", directory / "data"
    storage.mkdir(parents=True)
    begin = now - max(past, default=0)
    while begin < now:
        end = min(now, (begin // BLOCK + 1) * BLOCK)
        with text.open("w") as file:
            for window, several in past.items():
                times = range(max(begin, now - window), end, SCRAPE)
                for series in several:
                    samples += len(times) * len(instances)
                    heads = [head(series, instance) for instance in instances]
                    for time in times:
                        tail = f"{int(series[2] * (PAST + (time - now) / TEMPLATE))} {time}\n"
                        file.write(tail.join(heads) + tail)
            file.write("# EOF\n")
        status, said = await output("promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", text, storage)
        if status:
            raise Failure(f"promtool can't write the past: {said[-500:]}")
        begin = end
    return samples

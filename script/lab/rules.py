"""The shipped rules and routes of alerts, with other durations, and at other places."""

import re
from pathlib import Path

from lab.processes import Failure

RULES = Path("deploy/prometheus/rules")
ROUTES = Path("deploy/alertmanager/alertmanager.yml")

# The places of durations: in range selectors and subqueries, behind `offset`, and as values of these keys.
PLACES = re.compile(
    r"""
    \[ \s* (?: \d+ [a-z0-9]+ ) \s* (?: : [^\]]* )? \]
    | \b offset \s+ -? \s* \d+ [a-z0-9]+
    | ^ [ \t-]* (?: for | keep_firing_for | group_wait | [a-z_]*interval ) : [ \t]* ['"]? \d+ [a-z0-9]+
    """,
    re.VERBOSE | re.MULTILINE,
)
DURATION = re.compile(r"(?<![\w.])(?:\d+(?:ms|[smhdwy]))+(?![\w.])")
PART = re.compile(r"([0-9.]+)(ms|[smhdwy]|$)")
SECONDS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}


def shortened(file: str, divisor: int) -> str:
    """A file of rules, or a configuration of Alertmanager, with all durations divided. Names, numbers and texts stay.

    >>> print(shortened('''
    ... interval: 1m
    ... group_wait: 10s
    ... rules:
    ...   - record: job:requests:rate2m
    ...     expr: sum by (job) (rate(requests_total[2m])) / sum_over_time(x{for="5m"}[1h30m:1m])
    ...   - alert: Failing
    ...     expr: a > 0 unless a offset 10m > 0 and max_over_time(b[6h:] offset -1d) > 1
    ...     for: 2m
    ...     keep_firing_for: 500ms
    ...     annotations:
    ...       summary: for 2m, or for 2 minutes
    ... ''', 10))
    <BLANKLINE>
    interval: 6000ms
    group_wait: 1000ms
    rules:
      - record: job:requests:rate2m
        expr: sum by (job) (rate(requests_total[12000ms])) / sum_over_time(x{for="5m"}[540000ms:6000ms])
      - alert: Failing
        expr: a > 0 unless a offset 60000ms > 0 and max_over_time(b[2160000ms:] offset -8640000ms) > 1
        for: 12000ms
        keep_firing_for: 50ms
        annotations:
          summary: for 2m, or for 2 minutes
    <BLANKLINE>
    """
    if divisor == 1:
        return file
    return PLACES.sub(lambda place: DURATION.sub(lambda text: divided(text[0], divisor), place[0]), file)


def divided(duration: str, divisor: int) -> str:
    return f"{round(seconds(duration) * 1000 / divisor)}ms"


def seconds(duration: str) -> float:
    """
    >>> seconds("1m30s"), seconds("500ms"), seconds("5")
    (90.0, 0.5, 5.0)
    """
    return float(sum(float(number) * SECONDS[unit] for number, unit in PART.findall(duration)))


def swap(pattern: str, text: str, whole: str) -> str:
    """Replaces the one place of a shipped file.

    >>> swap("bind .*", "bind :2", "bind :1")
    'bind :2'
    """
    changed, count = re.subn(pattern, lambda _: text, whole)
    if count != 1:
        raise Failure(f"{pattern} stands {count} times in a shipped file, not once")
    return changed

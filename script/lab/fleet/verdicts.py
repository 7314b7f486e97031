"""Judges a run: values in, sentences about what is wrong out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Alert:
    name: str
    severity: str
    subject: str
    """The instance or the destination, or empty for the job."""

    def __str__(self) -> str:
        return f"{self.name} {self.severity}" + (f" {self.subject}" if self.subject else "")


def alert(labels: Mapping[str, str]) -> Alert:
    """
    >>> print(alert({"alertname": "WeirScrapeFailing", "severity": "ticket", "instance": "weir-a"}))
    WeirScrapeFailing ticket weir-a
    """
    subject = labels.get("instance") or labels.get("server_address") or labels.get("route", "")
    return Alert(labels["alertname"], labels["severity"], subject)


@dataclass(frozen=True)
class Message:
    """A message to the webhook: the alerts of a group, and whether each of them fires."""

    at: float
    sender: str
    group: str
    firing: frozenset[Alert]
    resolved: frozenset[Alert] = frozenset()


def label_failure(labels: Mapping[str, str]) -> str | None:
    """An alert has the cluster's name, by which its reader tells clusters apart, and no Prometheus' own.

    >>> label_failure({"alertname": "Down", "severity": "page", "cluster": "main"})
    >>> label_failure({"alertname": "Down", "severity": "page", "replica": "a"})
    'Down page has no label cluster, or has a label replica'
    """
    if labels.get("cluster") and "replica" not in labels:
        return None
    return f"{alert(labels)} has no label cluster, or has a label replica"


def changes(messages: Iterable[Message]) -> list[tuple[float, Alert, bool]]:
    """When alerts began to fire for the reader of the messages, and when they were resolved.

    >>> one, two = Alert("Down", "page", ""), Alert("Slow", "ticket", "")
    >>> told = [Message(1, "a", "g", frozenset({one})), Message(2, "a", "g", frozenset({one, two}))]
    >>> [(at, str(alert), fires) for at, alert, fires in changes(told)]
    [(1, 'Down page', True), (2, 'Slow ticket', True)]
    """
    open_: set[Alert] = set()
    found = []
    for message in messages:
        for one in sorted(message.firing - open_):
            found.append((message.at, one, True))
        for one in sorted(message.resolved & open_):
            found.append((message.at, one, False))
        open_ = (open_ | message.firing) - message.resolved
    return found


def alert_failures(messages: list[Message], expected: set[Alert]) -> list[str]:
    """Each expected alert is told of once and resolved once, no message with one comes twice, and no other page comes. Other tickets come
    and go where the machine is slow.

    >>> one = frozenset({Alert("Down", "page", "")})
    >>> fires, ends = Message(1, "a", "g", one), Message(9, "a", "g", frozenset(), one)
    >>> alert_failures([fires, ends], set(one))
    []
    >>> alert_failures([fires, Message(2, "b", "g", one), ends], set(one))
    ['b told again after 1.0 s what a had told: Down page fires']
    >>> alert_failures([fires], set(one))
    ['Down page was told of 1 times and resolved 0 times, not once each']
    >>> alert_failures([fires, ends], set())
    ['Down page was not expected']
    >>> stalled = Message(3, "a", "h", frozenset({Alert("Stalled", "ticket", "")}))
    >>> alert_failures([fires, stalled, stalled, ends], set(one))
    []
    """
    found, last = [], dict[str, Message]()
    for message in messages:
        before = last.get(message.group)
        is_told_again = before and (before.firing, before.resolved) == (message.firing, message.resolved)
        if is_told_again and (message.firing | message.resolved) & expected:
            after = f"{message.at - before.at:.1f} s"
            found.append(f"{message.sender} told again after {after} what {before.sender} had told: {content(message)}")
        last[message.group] = message
    told = changes(messages)
    for one in sorted(expected):
        begun = sum(fires for _, alert, fires in told if alert == one)
        ended = sum(not fires for _, alert, fires in told if alert == one)
        if (begun, ended) != (1, 1):
            found.append(f"{one} was told of {begun} times and resolved {ended} times, not once each")
    others = {alert for _, alert, _ in told if alert.severity == "page"} - expected
    return found + [f"{one} was not expected" for one in sorted(others)]


def content(message: Message) -> str:
    return ", ".join(
        [f"{one} fires" for one in sorted(message.firing)] + [f"{one} is resolved" for one in sorted(message.resolved)]
    )


def sum_failure(who: str, recorded: float, counted: float, scrape: float, window: float) -> str | None:
    """A recording rule over all instances says what their own pages have counted in its window, but for the requests of
    one scrape interval.

    >>> sum_failure("a", recorded=95, counted=90, scrape=15, window=120)
    >>> sum_failure("a", recorded=60, counted=90, scrape=15, window=120)
    'a records 60.0 requests per second, the instances 90.0'
    >>> sum_failure("a", recorded=float("nan"), counted=90, scrape=15, window=120)
    'a records nan requests per second, the instances 90.0'
    """
    if counted > 0 and abs(recorded - counted) <= counted * scrape / window:
        return None
    return f"{who} records {recorded:.1f} requests per second, the instances {counted:.1f}"


def rate_failure(who: str, theirs: float, stored: float, apart: float) -> str | None:
    """VictoriaMetrics, to which two write, has the rate of each.

    >>> rate_failure("a", 100, 100.9, apart=0.01)
    >>> rate_failure("a", 100, 200, apart=0.01)
    'a has a rate of 100.00, VictoriaMetrics one of 200.00'
    """
    if theirs > 0 and abs(stored - theirs) <= apart * theirs:
        return None
    return f"{who} has a rate of {theirs:.2f}, VictoriaMetrics one of {stored:.2f}"


@dataclass
class Phase:
    name: str
    requests: int
    failed: int
    may_fail: int = 0
    """How many requests an instance that was killed had."""


def phase_failures(phases: list[Phase]) -> list[str]:
    """
    >>> phase_failures([Phase("kill", 90, failed=2, may_fail=16), Phase("restart", 90, failed=1), Phase("end", 0, 0)])
    ['restart: 1 of 90 requests failed', 'end: there were no requests']
    """
    found = []
    for one in phases:
        if one.failed > one.may_fail:
            found.append(f"{one.name}: {one.failed} of {one.requests} requests failed")
        if not one.requests:
            found.append(f"{one.name}: there were no requests")
    return found


def move_failures(servers: list[tuple[float, str]], new: str, within: float) -> list[str]:
    """`servers` are those that answered: how long after the change of the address, and which.

    >>> move_failures([(1, "127.0.0.2"), (2, "127.0.0.3"), (9, "127.0.0.3")], "127.0.0.3", within=5)
    []
    >>> move_failures([(1, "127.0.0.2"), (9, "127.0.0.2")], "127.0.0.3", within=5)
    ['1 requests went to the old address more than 5 s after the change']
    """
    late = sum(after > within and server != new for after, server in servers)
    return [f"{late} requests went to the old address more than {within:g} s after the change"] if late else []

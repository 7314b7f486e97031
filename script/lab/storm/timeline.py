"""Prints events while they happen, and at the end the results of the runs: a table, and the failures."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lab.storm.run import Plan, Run, Sample

STORM = "WeirRetryStorm"
# Changes that are made to the runs.
BROWN_OUT, RECOVERY, OFF, BACK = "brown-out begins", "origins recover", "callers taken off", "callers back"
# States of an alert, as the webhook received them.
PAGED, TICKET, RESOLVED = "paged", "ticket", "resolved"
SETTLED = 10
"""Seconds at the end in which good answers are counted."""
CLEARLY = 0.75
"""The amplification with the budget, at most, as a share of that without it."""


@dataclass(frozen=True)
class Event:
    at: float
    """Seconds since the callers began."""
    what: str
    run: str = ""
    """The name of the run, or empty for all."""
    alert: str = ""
    """Prometheus says that one is `pending`, `firing` or `inactive`; for what the webhook heard see above."""


@dataclass
class Timeline:
    events: list[Event] = field(default_factory=list)
    said: int = 0
    """How many events other alerts than the storm's were looked for in."""

    def note(self, event: Event) -> None:
        self.events.append(event)
        if event.alert in ("", STORM):
            subject = " ".join(word for word in (event.alert, event.what) if word)
            self.say(event.at, f"{event.run:<20}  {subject}" if event.run else subject, mark=">>")

    def say_of_others(self, at: float) -> None:
        """Prints a line for each run, with the other alerts that the webhook has received since the last such lines."""
        heard: dict[str, list[str]] = {}
        for event in self.events[self.said :]:
            if event.alert not in ("", STORM) and event.what in (PAGED, TICKET, RESOLVED):
                heard.setdefault(event.run, []).append(f"{event.alert} {event.what}")
        self.said = len(self.events)
        for run, words in sorted(heard.items()):
            self.say(at, f"{run:<20}  also {', '.join(words)}", mark=" >")

    def first(self, what: str, run: str = "", alert: str = "", after: float = 0) -> float | None:
        """When something happened first."""
        for event in self.events:
            if (event.what, event.run, event.alert) == (what, run, alert) and event.at >= after:
                return event.at
        return None

    def last(self, what: str, run: str, alert: str) -> float | None:
        times = [event.at for event in self.events if (event.what, event.run, event.alert) == (what, run, alert)]
        return max(times, default=None)

    def heading(self) -> None:
        columns = f"{'requests/s':>11}{'goodput/s':>11}{'attempts/s':>12}{'amplif.':>9}{'p99':>9}{'budget':>8}"
        print(f"{'time':>5}     {'run':<20}{columns}")

    def row(self, at: float, run: Run, sample: Sample) -> None:
        seconds = max(sample.seconds, 1)
        self.say(
            at,
            f"{run.setup.name:<20}{sample.requests / seconds:>11.1f}{sample.good / seconds:>11.1f}"
            f"{sample.attempts / seconds:>12.1f}{times(sample.amplification):>9}{duration(sample.p99):>9}"
            f"{'off' if sample.budget is None else format(sample.budget, '.0f'):>8}",
        )

    def say(self, at: float, text: str, mark: str = "") -> None:
        print(f"{clock(at):>5}  {mark:<2} {text}", flush=True)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def times(amplification: float) -> str:
    return f"{amplification:.1f}x" if amplification else "-"


def duration(seconds: float) -> str:
    if not seconds:
        return "-"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


@dataclass
class Outcome:
    """The result of a run. Times in seconds; None for an event that did not happen."""

    run: Run
    healthy: Sample
    brown_out: Sample
    end: Sample
    paged_after: float | None
    """Since the brown-out's begin."""
    resolved_after: float | None
    """Since the origin's recovery."""
    good_after: float | None
    """Since the origin's recovery, until nine of ten requests got a good answer, three seconds long."""
    taken_off: bool


def outcome(run: Run, timeline: Timeline, zero: int, end: int) -> Outcome:
    """`zero` is the second in which the callers began, `end` the one after the last."""
    began, recovered = timeline.first(BROWN_OUT) or 0, timeline.first(RECOVERY) or 0
    first, last = zero + int(began) + 1, zero + int(recovered)
    paged = timeline.first(PAGED, run.setup.name, STORM, after=began)
    resolved = timeline.last(RESOLVED, run.setup.name, STORM)
    if resolved is not None and resolved < (timeline.last(PAGED, run.setup.name, STORM) or 0):
        resolved = None
    return Outcome(
        run,
        healthy=run.between(zero + 1, first - 1),
        brown_out=run.between(first, last),
        end=run.between(end - SETTLED, end),
        paged_after=None if paged is None else paged - began,
        resolved_after=None if resolved is None else resolved - recovered,
        good_after=good_after(run, last, end),
        taken_off=timeline.first(OFF, run.setup.name) is not None,
    )


def good_after(run: Run, recovered: int, end: int) -> float | None:
    for second in range(recovered, end - 2):
        if run.between(second, second + 3).goodput >= 0.9:
            return second - recovered
    return None


def verdict(runs: list[Run], timeline: Timeline, zero: int, end: int, plan: Plan) -> list[str]:
    """Prints the table. Returns the expectations that were not met."""
    outcomes = [outcome(run, timeline, zero, end) for run in runs]
    print_table(outcomes)
    unbounded = {one.run.setup.layers: one for one in outcomes if not one.run.setup.bounded}
    found = []
    for one in outcomes:
        setup = one.run.setup
        found += [f"{setup.name}: {failure}" for failure in alert_failures(one, plan)]
        if one.healthy.goodput < 0.9:
            found.append(f"{setup.name}: only {one.healthy.goodput:.0%} good answers before anything happened")
        if setup.bounded:
            found += [f"{setup.name}: {failure}" for failure in budget_failures(one, unbounded[setup.layers])]
    return found


def alert_failures(one: Outcome, plan: Plan) -> Iterator[str]:
    if one.paged_after is None:
        yield f"{STORM} did not reach the webhook"
    elif one.paged_after > plan.page_within:
        yield f"{STORM} reached the webhook after {one.paged_after:.0f} s, not within {plan.page_within:.0f} s"
    if one.resolved_after is None:
        yield f"{STORM} was not resolved"


def budget_failures(one: Outcome, without: Outcome) -> Iterator[str]:
    ours, theirs = one.brown_out.amplification, without.brown_out.amplification
    if not ours < CLEARLY * theirs:
        yield f"{ours:.2f} attempts per request in the brown-out, and without the budget {theirs:.2f}"
    if one.taken_off:
        yield "the storm outlived its cause"
    if one.end.goodput < 0.9:
        yield f"only {one.end.goodput:.0%} good answers at the end, long after the recovery"


def print_table(outcomes: list[Outcome]) -> None:
    print(f"\n{'':<20}{'-- in the brown-out, per request --':^43}{'paged':>10}{'good again':>14}{'resolved':>12}")
    print(f"{'run':<20}{'attempts':>12}{'good answers':>16}{'p99':>15}{'after':>10}{'after':>14}{'after':>12}")
    for one in outcomes:
        print(
            f"{one.run.setup.name:<20}{times(one.brown_out.amplification):>12}{one.brown_out.goodput:>16.0%}"
            f"{duration(one.brown_out.p99):>15}{seconds(one.paged_after):>10}"
            f"{seconds(one.good_after) + ('*' if one.taken_off else ''):>14}{seconds(one.resolved_after):>12}"
        )
    print("paged: since the brown-out's begin. Good again (90 % good answers), resolved: since the origin's recovery.")
    if any(one.taken_off for one in outcomes):
        print("* The storm outlived its cause: it ended when the callers were taken off for a while.")


def seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f} s"

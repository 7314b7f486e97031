"""Prints events while they happen."""

from dataclasses import dataclass, field

from lab.storm.run import Run, Sample

STORM = "WeirRetryStorm"
# Changes that are made to the runs.
BROWN_OUT, RECOVERY, OFF, BACK = "brown-out begins", "origins recover", "callers taken off", "callers back"
# States of an alert, as the webhook received them.
PAGED, TICKET, RESOLVED = "paged", "ticket", "resolved"


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

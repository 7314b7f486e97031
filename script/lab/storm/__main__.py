"""Shows a retry storm, and the effect of weir's retry budget on it."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import command
from lab.processes import Place
from lab.prometheus import Alertmanager, Prometheus, Webhook
from lab.storm.run import BROWNED_OUT, FULL, SETUPS, SHORT, WELL, Plan, Run
from lab.storm.timeline import BACK, BROWN_OUT, OFF, PAGED, RECOVERY, RESOLVED, STORM, TICKET, Event, Timeline, verdict

STILL_STORMING = 2.0
"""Attempts per request, after the recovery."""


class Demonstration:
    def __init__(self, plan: Plan, place: Place) -> None:
        self.plan = plan
        self.place = place
        self.timeline = Timeline()
        self.runs = [Run(setup, place) for setup in SETUPS]
        self.prometheus = Prometheus(place, "prometheus")
        self.alertmanager = Alertmanager(place, "alertmanager", plan.rules_divisor)
        self.alerts: dict[tuple[str, str], str] = {}
        self.open: set[tuple[str, str, str]] = set()
        """Jobs, alerts and severities of which the webhook heard, and not yet that they are resolved."""
        self.zero = self.printed = 0

    async def start(self) -> None:
        webhook = Webhook(self.receive)
        await webhook.start()
        await asyncio.gather(*(run.start() for run in self.runs))
        # The webhook is told of each alert by itself: on call, one page for a job will do, but here it has to be seen which alert
        # comes when.
        await self.alertmanager.start(webhook.url, "--cluster.listen-address=", group_by="[job, alertname]")
        await self.prometheus.start(json.dumps(self.configuration(), indent=2), divisor=self.plan.rules_divisor)
        self.zero = self.printed = int(time.monotonic()) + 1

    def configuration(self) -> dict[str, object]:
        """That of Prometheus, with a job for each run."""
        scrapes: list[dict[str, object]] = [
            {"job_name": run.setup.name, "static_configs": [{"targets": run.metrics}]} for run in self.runs
        ]
        # The rules report the missing job of the shipped configuration. It is not counted.
        drop = [{"regex": ".*", "action": "drop"}]
        scrapes.append({**scrapes[0], "job_name": "weir", "metric_relabel_configs": drop})
        return {
            "global": {
                "scrape_interval": f"{self.plan.scrape:g}s",
                "scrape_timeout": f"{min(self.plan.scrape, 10):g}s",
                "evaluation_interval": f"{self.plan.evaluation:g}s",
            },
            "rule_files": ["rules/*.yml"],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [self.alertmanager.address]}]}]},
            "scrape_configs": scrapes,
        }

    async def show(self) -> None:
        plan = self.plan
        listening = [asyncio.create_task(run.listen()) for run in self.runs]
        self.timeline.heading()
        await self.go_on(plan.healthy)

        for run in self.runs:
            run.origin.becomes(BROWNED_OUT)
        self.note(BROWN_OUT)
        await self.go_on(plan.brown_out)

        for run in self.runs:
            run.origin.becomes(WELL)
        self.note(RECOVERY)
        relief = [asyncio.create_task(self.relieve(run)) for run in self.runs]
        await self.go_on(plan.patience + plan.relief)
        await asyncio.gather(*relief)
        rest = plan.resolve_within - plan.patience - plan.relief
        await self.go_on(rest, unless=lambda: not any(alert == STORM for _, alert, _ in self.open))
        await self.go_on(plan.afterwards)
        for task in listening:
            task.cancel()
        await asyncio.gather(*(run.callers.stop() for run in self.runs))

    async def relieve(self, run: Run) -> None:
        """Does what somebody on call would do about a storm that does not end with its cause."""
        await asyncio.sleep(self.plan.patience)
        second = int(time.monotonic())
        if run.between(second - 5, second).amplification > STILL_STORMING:
            run.callers.paused = True
            self.note(OFF, run.setup.name)
            await asyncio.sleep(self.plan.relief)
            run.callers.paused = False
            self.note(BACK, run.setup.name)

    # Time passes

    async def go_on(self, seconds: float, unless: Callable[[], bool] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not unless():
            await self.next_second()

    async def next_second(self) -> None:
        """Half a second late, so that everybody has told of the last one."""
        second = int(time.monotonic() - 0.5) + 1
        await asyncio.sleep(second + 0.5 - time.monotonic())
        self.place.check()
        await self.ask_prometheus(second)
        if second - self.printed >= self.plan.line:
            for run in self.runs:
                self.timeline.row(second - self.zero, run, run.between(self.printed, second))
            self.timeline.say_of_others(second - self.zero)
            self.printed = second

    async def ask_prometheus(self, second: int) -> None:
        budgets, alerts = await asyncio.gather(self.budgets(), self.states())
        for run in self.runs:
            run.second(second - 1).budget = budgets.get(run.setup.name)
        for job, alert in sorted(alerts.keys() | self.alerts.keys()):
            state = alerts.get((job, alert), "inactive")
            if state != self.alerts.get((job, alert), "inactive"):
                self.note(state, job, alert)
        self.alerts = alerts

    async def budgets(self) -> dict[str, float]:
        """The retries that the emptiest budget of each job would grant."""
        vector = await self.prometheus.query("min by (job) (weir_retry_budget_available)")
        return {labels["job"]: value for labels, value in vector}

    async def states(self) -> dict[tuple[str, str], str]:
        """By job and alert whether it is pending or firing."""
        states: dict[tuple[str, str], str] = {}
        for labels, _ in await self.prometheus.query("ALERTS"):
            alert = labels.get("job", ""), labels["alertname"]
            # The worst of several destinations counts.
            states[alert] = min(states.get(alert, "pending"), labels["alertstate"])
        return states

    def receive(self, message: dict[str, Any]) -> None:
        """An alert of a job is firing as long as it fires for one of the job's destinations."""
        firing: dict[tuple[str, str, str], bool] = {}
        for one in message["alerts"]:
            labels = one["labels"]
            key = labels.get("job", ""), labels["alertname"], labels["severity"]
            firing[key] = firing.get(key, False) or one["status"] == "firing"
        for key, fires in firing.items():
            job, alert, severity = key
            if fires and key not in self.open:
                self.open.add(key)
                self.note(PAGED if severity == "page" else TICKET, job, alert)
            elif not fires and key in self.open:
                self.open.remove(key)
                self.note(RESOLVED, job, alert)

    def note(self, what: str, run: str = "", alert: str = "") -> None:
        self.timeline.note(Event(time.monotonic() - self.zero, what, run, alert))

    # The results

    def keep_numbers(self) -> None:
        columns = ("second", "run", "requests", "good", "attempts", "p99_seconds", "budget")
        seconds = [
            (second - self.zero, run.setup.name, one.requests, one.good, one.attempts, one.p99, one.budget)
            for run in self.runs
            for second in range(self.zero, self.printed)
            for one in (run.second(second),)
        ]
        command.keep(self.place.directory / "seconds.csv", columns, seconds)
        events = ((round(event.at, 1), event.run, event.alert, event.what) for event in self.timeline.events)
        command.keep(self.place.directory / "events.csv", ("second", "run", "alert", "what"), events)


async def demonstrate(plan: Plan, place: Place, drawn_to: Path) -> list[str]:
    from lab.storm import picture

    demonstration = Demonstration(plan, place)
    await demonstration.start()
    await demonstration.show()
    await place.stop()
    demonstration.keep_numbers()
    runs, timeline, zero, end = demonstration.runs, demonstration.timeline, demonstration.zero, demonstration.printed
    wrong = verdict(runs, timeline, zero, end, plan)
    picture.draw(drawn_to, runs, timeline, zero, end, plan.point)
    return wrong


if __name__ == "__main__":
    options = command.options("storm", __doc__)
    options.add_argument(
        "--short", action="store_true", help="ten times as fast, with the rules' durations divided by ten"
    )
    given = command.parsed(options)
    plan, drawn_to = FULL, Path("docs/images/storm.png")
    if given.short:
        plan, drawn_to = SHORT, given.directory / "storm.png"
    command.conduct("storm", given, lambda place: demonstrate(plan, place, drawn_to))

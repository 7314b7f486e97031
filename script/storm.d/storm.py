"""Shows a retry storm and the effect of a retry budget on it. Called by script/storm.

    storm.py [--short] PROGRAM DIRECTORY PICTURE

An origin browns out and recovers; callers ask it through one or three layers of the program weir that retry, without
and with the bounds on retries. Prometheus watches the gateways with the shipped rules, Alertmanager notifies a webhook.
Logs, configurations and numbers are left in the directory.
"""

import argparse
import asyncio
import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import picture
from alertmanager import Alertmanager, Notification, Webhook, notifications
from plan import FULL, SETUPS, SHORT, Plan
from processes import Processes, judge
from prometheus import Prometheus
from run import Run
from timeline import BACK, BROWN_OUT, OFF, PAGED, RECOVERY, RESOLVED, STORM, TICKET, Event, Timeline
from verdict import failures, outcome, print_table

STILL_STORMING = 2.0
"""Attempts per request, after the recovery."""


class Demonstration:
    def __init__(self, plan: Plan, program: str, directory: Path, processes: Processes) -> None:
        self.plan = plan
        self.directory = directory
        self.processes = processes
        self.timeline = Timeline()
        self.runs = [Run(setup, processes, directory, program) for setup in SETUPS]
        self.prometheus = Prometheus(plan, directory)
        self.alertmanager = Alertmanager(plan, directory)
        self.alerts: dict[tuple[str, str], str] = {}
        self.open: set[tuple[str, str, str]] = set()
        """Jobs, alerts and severities of which the webhook heard, and not yet that they are resolved."""
        self.zero = self.printed = 0

    async def start(self) -> None:
        webhook = Webhook(self.receive)
        await webhook.start()
        await asyncio.gather(*(run.start_origin_and_gateways() for run in self.runs))
        await self.alertmanager.start(self.processes, webhook.url)
        jobs = {run.setup.name: run.metrics for run in self.runs}
        await self.prometheus.start(self.processes, jobs, self.alertmanager.address)
        await asyncio.gather(*(run.start_callers() for run in self.runs))
        self.zero = self.printed = int(time.monotonic()) + 1

    async def show(self) -> None:
        plan = self.plan
        listening = [asyncio.create_task(run.listen()) for run in self.runs]
        self.timeline.heading()
        await self.go_on(plan.healthy)

        for run in self.runs:
            run.origin.order("brown-out")
        self.note(BROWN_OUT)
        await self.go_on(plan.brown_out)

        for run in self.runs:
            run.origin.order("recover")
        self.note(RECOVERY)
        relief = [asyncio.create_task(self.relieve(run)) for run in self.runs]
        await self.go_on(plan.patience + plan.relief)
        await asyncio.gather(*relief)
        await self.go_on(plan.resolve_within - plan.patience - plan.relief, unless=self.all_resolved)
        await self.go_on(plan.afterwards)
        for task in listening:
            task.cancel()

    async def relieve(self, run: Run) -> None:
        """What somebody on call would do about a storm that does not end with its cause."""
        await asyncio.sleep(self.plan.patience)
        second = int(time.monotonic())
        if run.between(second - 5, second).amplification > STILL_STORMING:
            run.callers.order("pause")
            self.note(OFF, run.setup.name)
            await asyncio.sleep(self.plan.relief)
            run.callers.order("resume")
            self.note(BACK, run.setup.name)

    def all_resolved(self) -> bool:
        return not any(alert == STORM for _, alert, _ in self.open)

    # Time passes

    async def go_on(self, seconds: float, unless: Callable[[], bool] = lambda: False) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not unless():
            await self.next_second()

    async def next_second(self) -> None:
        """Half a second late, so that everybody has told of the last one."""
        second = int(time.monotonic() - 0.5) + 1
        await asyncio.sleep(second + 0.5 - time.monotonic())
        self.processes.check()
        await self.ask_prometheus(second)
        if second - self.printed >= self.plan.line:
            for run in self.runs:
                self.timeline.row(second - self.zero, run, run.between(self.printed, second))
            self.timeline.say_of_others(second - self.zero)
            self.printed = second

    async def ask_prometheus(self, second: int) -> None:
        budgets, alerts = await asyncio.gather(self.prometheus.budgets(), self.prometheus.alerts())
        for run in self.runs:
            run.second(second - 1).budget = budgets.get(run.setup.name)
        for job, alert in sorted(alerts.keys() | self.alerts.keys()):
            state = alerts.get((job, alert), "inactive")
            if state != self.alerts.get((job, alert), "inactive"):
                self.note(state, job, alert)
        self.alerts = alerts

    def receive(self, message: dict[str, Any]) -> None:
        for notification in notifications(message):
            self.hear(notification)

    def hear(self, notification: Notification) -> None:
        job, alert, severity = key = notification.job, notification.alert, notification.severity
        if notification.firing and key not in self.open:
            self.open.add(key)
            self.note(PAGED if severity == "page" else TICKET, job, alert)
        elif not notification.firing and key in self.open:
            self.open.remove(key)
            self.note(RESOLVED, job, alert)

    def note(self, what: str, run: str = "", alert: str = "") -> None:
        self.timeline.note(Event(time.monotonic() - self.zero, what, run, alert))

    # What remains

    def keep_numbers(self) -> None:
        with (self.directory / "seconds.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["second", "run", "requests", "good", "attempts", "p99_seconds", "budget"])
            for run in self.runs:
                for second in range(self.zero, self.printed):
                    one = run.second(second)
                    table.writerow(
                        [second - self.zero, run.setup.name, one.requests, one.good, one.attempts, one.p99, one.budget]
                    )
        with (self.directory / "events.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["second", "run", "alert", "what"])
            table.writerows([round(event.at, 1), event.run, event.alert, event.what] for event in self.timeline.events)


async def demonstrate(plan: Plan, program: str, directory: Path, drawn_to: Path) -> list[str]:
    processes = Processes(directory)
    demonstration = Demonstration(plan, program, directory, processes)
    try:
        await demonstration.start()
        await demonstration.show()
    finally:
        await processes.stop()
    demonstration.keep_numbers()
    runs, timeline, zero, end = demonstration.runs, demonstration.timeline, demonstration.zero, demonstration.printed
    outcomes = [outcome(run, timeline, zero, end) for run in runs]
    print_table(outcomes)
    picture.draw(drawn_to, runs, timeline, zero, end, plan.point)
    return failures(outcomes, plan)


async def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--short", action="store_true", help="ten times as fast, with the rules' durations divided by ten"
    )
    arguments.add_argument("program")
    arguments.add_argument("directory", type=Path)
    arguments.add_argument("picture", type=Path)
    given = arguments.parse_args()
    plan = SHORT if given.short else FULL
    return await judge("storm", demonstrate(plan, given.program, given.directory, given.picture))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

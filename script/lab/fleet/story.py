"""The fleet and its observers, and what is done to them."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from lab.fleet import verdicts
from lab.fleet.members import NAMES, REPLICAS, Alertmanager, Balancer, Instance, Prometheus
from lab.fleet.verdicts import Alert, Message, Phase, alert, changes
from lab.load import Call, steady
from lab.processes import Failure, Place, free_port
from lab.prometheus import Database, Victoria, Webhook
from lab.servers import Names, nginx

ADDRESSES = ("127.0.0.2", "127.0.0.3")
MOVED_WITHIN = 5.0
"""Seconds: the answer's TTL and the shortest time between two lookups are one each."""
MEAN = 5
"""Seconds whose values are averaged: what is measured between two moments depends on the moments."""
FLUSH = 8
"""Seconds until a sample of Prometheus is in VictoriaMetrics: Prometheus gathers for five of them."""
AT_ONCE = 16
"""Requests that an instance may have when it is killed, and that may fail then."""
RECORDED = 'sum(job_destination:weir_requests_started:rate2m{job="weir"})'
ALL_LOST = Alert("WeirScrapeFailing", "page", "")


def lost(name: str) -> Alert:
    return Alert("WeirScrapeFailing", "ticket", f"weir-{name}")


EVERY_LOSS = {ALL_LOST, *map(lost, NAMES)}


@dataclass(frozen=True)
class Course:
    divisor: int
    """All durations of the shipped rules, routes and scrapes are divided by it; their logic stays."""
    rate: float
    """Requests per second."""
    settle: float
    """Seconds before the first figures are taken."""
    told_within: float
    """Seconds from an instance's loss until its alert is at the webhook, and from its return until that is resolved."""
    apart: float
    """The share by which the rates of two databases may differ, which have counted at other moments."""
    everything: bool
    """Whether an instance is also lost for one Prometheus alone, and then all of them for both."""

    @property
    def scrape(self) -> float:
        return 15 / self.divisor

    @property
    def window(self) -> float:
        """That of the recording rule which is held against the instances' own pages."""
        return 120 / self.divisor


# Prometheus and Alertmanager as they are shipped.
FULL = Course(divisor=1, rate=60, settle=45, told_within=360, apart=0.01, everything=True)

SHORT = Course(divisor=10, rate=90, settle=8, told_within=45, apart=0.05, everything=False)


class Story:
    def __init__(self, place: Place, course: Course) -> None:
        self.place = place
        self.course = course
        self.origin = free_port()
        self.names = Names(place)
        self.configuration = place.file("weir.yml", self.routes(generation=1))
        self.instances = {name: Instance(place, name, self.configuration) for name in NAMES}
        everyone = list(self.instances.values())
        self.balancer = Balancer(place, everyone)
        self.victoria = Victoria(place, "victoria-metrics")
        self.prometheus = [Prometheus(place, replica, everyone, course.divisor) for replica in REPLICAS]
        self.alertmanagers = [Alertmanager(place, f"alertmanager-{replica}", course.divisor) for replica in REPLICAS]
        self.demand = steady(self.balancer.address, course.rate)
        self.webhook = Webhook(self.hear)
        self.messages: list[Message] = []
        self.comparisons: list[asyncio.Task[None]] = []
        self.phases: list[tuple[float, str]] = []
        self.expected: set[Alert] = set()
        self.wrong: list[str] = []
        self.moved_at = self.whole = 0.0
        self.zero = time.monotonic()

    def routes(self, generation: int) -> str:
        return f"""upstreams:
  - name: shop
    endpoints: [shop.test:{self.origin}]
    resolve: {{ servers: ["{self.names.server}"], family: ipv4 }}
routes:
  - name: shop
    upstream: shop
    timeout: 5s
    responseHeaders: {{ set: {{ X-Generation: "{generation}" }} }}
"""

    async def start(self) -> None:
        await self.webhook.start()
        self.names.say("shop.test", ADDRESSES[0])
        await asyncio.gather(
            nginx(self.place, [self.origin]), self.names.start(), self.victoria.start(self.course.scrape)
        )
        await asyncio.gather(
            *(instance.start() for instance in self.instances.values()),
            *(self.start_alertmanager(number) for number in range(2)),
        )
        await self.balancer.start()
        await self.balancer.has_up(*NAMES)
        addresses = [one.address for one in self.alertmanagers]
        await asyncio.gather(*(one.watch(addresses, self.victoria.address) for one in self.prometheus))
        self.zero = time.monotonic()
        self.begin("all is well")
        self.demand.begin(self.zero)

    async def start_alertmanager(self, number: int) -> None:
        await self.alertmanagers[number].join(self.webhook.url, peer=self.alertmanagers[1 - number].cluster)

    async def play(self) -> None:
        course = self.course
        await asyncio.sleep(course.settle)
        await self.compare_sums("all is well")
        for one in self.alertmanagers:
            await one.check_cluster()
        await self.lose_two()
        await self.roll()
        if course.everything:
            await self.lose_for_one()
            await self.lose_all()
        await asyncio.sleep(course.settle)
        await self.compare_sums("at the end")
        self.compare_rates("the fleet", '{job="weir"}', since=self.whole)
        await asyncio.gather(*self.comparisons)
        self.begin("end")

    # Changes

    async def lose_two(self) -> None:
        """One is killed and one is cut off, while the upstream moves and the configuration changes."""
        self.expected |= {lost("a"), lost("b")}
        self.begin("a is killed")
        killed = self.now()
        await self.instances["a"].kill()
        await asyncio.sleep(2)
        self.begin("b is cut off from both Prometheus")
        self.prometheus[0].relays["b"].refuse()
        self.prometheus[1].relays["b"].hang()
        await asyncio.sleep(2)
        self.begin("the upstream moves")
        self.moved_at = self.now()
        self.names.say("shop.test", ADDRESSES[1])
        await asyncio.sleep(MOVED_WITHIN + 1)
        self.begin("b and c reload")
        self.configuration.write_text(self.routes(generation=2))
        await asyncio.gather(*(self.instances[name].reload() for name in ("b", "c")))
        await self.told(lost("a"), lost("b"))
        await self.agree({lost("a"), lost("b")})
        if self.course.everything:
            self.compare_rates("c", '{instance="weir-c"}', since=killed)
        self.begin("a and b are back")
        await asyncio.gather(self.instances["a"].start(), *(one.relays["b"].open() for one in self.prometheus))
        await self.balancer.has_up(*NAMES)

    async def roll(self) -> None:
        self.begin("all restart in turn")
        for name, instance in self.instances.items():
            await instance.restart()
            await self.balancer.has_up(*NAMES)
            self.say(f"{name} has restarted")
        self.begin("all have restarted")
        self.whole = self.now()
        await self.resolved()

    async def lose_for_one(self) -> None:
        """A ticket, though the other Prometheus sees the instance."""
        self.expected.add(lost("c"))
        self.begin("c is cut off from Prometheus a")
        self.prometheus[0].relays["c"].hang()
        await self.told(lost("c"))
        await self.agree({lost("c")})
        self.begin("Alertmanager a ends, and c is back")
        await self.alertmanagers[0].process.end()
        await self.prometheus[0].relays["c"].open()
        await self.resolved()
        self.begin("Alertmanager a is back")
        await self.start_alertmanager(0)

    async def lose_all(self) -> None:
        self.expected.add(ALL_LOST)
        self.begin("all are cut off from both Prometheus")
        relays = [relay for one in self.prometheus for relay in one.relays.values()]
        for relay in relays:
            relay.refuse()
        await self.told(ALL_LOST)
        await self.agree({ALL_LOST})
        await asyncio.gather(*(relay.open() for relay in relays))
        self.begin("all are back")
        self.whole = self.now()
        await self.resolved()

    # Comparisons

    async def compare_sums(self, when: str) -> None:
        began, before = time.monotonic(), await self.counted()
        await asyncio.sleep(self.course.window)
        seconds, after = time.monotonic() - began, await self.counted()
        counted = (after - before) / seconds
        for one in self.prometheus:
            recorded = await one.value(RECORDED)
            self.say(f"{one.title} records {recorded:.1f} requests per second, the instances {counted:.1f}")
            self.note(
                verdicts.sum_failure(f"{when}: {one.title}", recorded, counted, self.course.scrape, self.course.window)
            )

    async def counted(self) -> float:
        """The requests that began, by the instances' own pages."""
        pages = await asyncio.gather(*(one.gateway.page() for one in self.instances.values()))
        return sum(page.sum("weir_requests_started_total") for page in pages)

    def compare_rates(self, subject: str, series: str, since: float) -> None:
        """For a time of steady load: they count at other moments, and VictoriaMetrics also looks before the window."""
        window = int(self.now() - since - 2 * self.course.scrape - MEAN)
        expression = f"sum(rate(weir_requests_started_total{series}[{window}s]))"
        self.comparisons.append(asyncio.create_task(self.compare_rate(subject, expression, time.time())))

    async def compare_rate(self, subject: str, expression: str, at: float) -> None:
        await asyncio.sleep(FLUSH)
        stored = await mean(self.victoria, expression, at)
        for one in self.prometheus:
            theirs = await mean(one, expression, at)
            self.say(f"{subject}: {theirs:.2f} requests per second by {one.title}, {stored:.2f} by VictoriaMetrics")
            self.note(verdicts.rate_failure(f"{subject}: {one.title}", theirs, stored, self.course.apart))

    def note(self, sentence: str | None) -> None:
        if sentence:
            self.wrong.append(sentence)

    # Alerts

    def hear(self, message: dict[str, Any]) -> None:
        states: dict[str, set[Alert]] = {"firing": set(), "resolved": set()}
        for one in message["alerts"]:
            states[one["status"]].add(alert(one["labels"]))
            self.note(verdicts.label_failure(one["labels"]))
        heard = Message(
            self.now(),
            self.sender(message["externalURL"]),
            message["receiver"] + message["groupKey"],
            frozenset(states["firing"]),
            frozenset(states["resolved"]),
        )
        told = len(changes(self.messages))
        self.messages.append(heard)
        for _, changed, fires in changes(self.messages)[told:]:
            self.say(f"{heard.sender} tells that {changed} {'fires' if fires else 'is resolved'}", mark=">>")

    def sender(self, url: str) -> str:
        for one in self.alertmanagers:
            if url.endswith(one.address.partition(":")[2]):
                return one.name.replace("alertmanager-", "Alertmanager ")
        return url

    def open_alerts(self) -> set[Alert]:
        open_: set[Alert] = set()
        for _, one, fires in changes(self.messages):
            open_ = open_ | {one} if fires else open_ - {one}
        return open_

    async def told(self, *alerts: Alert) -> None:
        await self.until(lambda: self.open_alerts() >= set(alerts), f"the webhook is not told of {sentence(alerts)}")

    async def resolved(self) -> None:
        await self.until(
            lambda: not self.open_alerts() & self.expected,
            f"not all is resolved: {sentence(self.expected)}",
        )

    async def until(self, holds: Callable[[], bool], otherwise: str) -> None:
        end = time.monotonic() + self.course.told_within
        while not holds():
            if time.monotonic() > end:
                raise Failure(f"{otherwise} within {self.course.told_within:.0f} s")
            await asyncio.sleep(0.2)

    async def agree(self, alerts: set[Alert]) -> None:
        """Both Alertmanagers know these alerts, and no others of the run's own."""
        end = time.monotonic() + 2 * self.course.scrape
        while True:
            known = [await one.alerts() & EVERY_LOSS for one in self.alertmanagers]
            if all(one == alerts for one in known):
                return self.say(f"both Alertmanagers know of {sentence(alerts)}")
            if time.monotonic() > end:
                self.note(f"the Alertmanagers do not agree: {sentence(known[0])} beside {sentence(known[1])}")
                return
            await asyncio.sleep(0.5)

    async def watch(self) -> None:
        """Says what becomes of alerts in each Prometheus."""
        before: dict[tuple[str, Alert], str] = {}
        while True:
            self.place.check()
            now = {
                (one.title, alert): state for one in self.prometheus for alert, state in (await one.alerts()).items()
            }
            for name, changed in sorted(now.keys() | before.keys()):
                state = now.get((name, changed), "inactive")
                if state != before.get((name, changed), "inactive"):
                    self.say(f"{name}: {changed} is {state}", mark=" >")
            before = now
            await asyncio.sleep(1)

    # Phases

    def begin(self, phase: str) -> None:
        self.phases.append((self.now(), phase))
        self.say(phase, mark="==")

    def now(self) -> float:
        return time.monotonic() - self.zero

    def say(self, text: str, mark: str = "") -> None:
        seconds = int(self.now())
        print(f"{seconds // 60:>3}:{seconds % 60:02}  {mark:<2} {text}", flush=True)

    def failures(self) -> list[str]:
        phases = []
        for (begin, name), (end, _) in zip(self.phases, self.phases[1:]):
            # A request that is cut off ends when that happens, whenever it began.
            calls = [call for call in self.demand.calls if begin <= call.ended < end]
            failed = [call for call in calls if not call.good]
            phases.append(Phase(name, len(calls), len(failed), AT_ONCE if "killed" in name else 0))
            ends = [f"{kind(call)} after {call.ended - begin:.1f} s" for call in failed[:5]]
            print(f"{len(calls):>7} requests, {len(failed)} failed: {name}", *ends, sep="; ")
        servers = [
            (call.due - self.moved_at, call.server.partition(":")[0])
            for call in self.demand.calls
            if call.due > self.moved_at and call.server
        ]
        return (
            self.wrong
            + verdicts.phase_failures(phases)
            + verdicts.move_failures(servers, ADDRESSES[1], MOVED_WITHIN)
            + verdicts.alert_failures(self.messages, self.expected)
        )


def sentence(alerts: set[Alert] | tuple[Alert, ...]) -> str:
    return ", ".join(map(str, sorted(alerts))) or "no alert"


def kind(call: Call) -> str:
    return str(call.status) if call.status > 0 else "cut off"


async def mean(database: Database, expression: str, before: float) -> float:
    return fmean([await database.value(expression, before - second) for second in range(MEAN)])

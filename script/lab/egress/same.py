"""The row about programs: each gets the same answers through the gateway as without it."""

import asyncio
from dataclasses import dataclass, field

from lab.client import BROKEN_OFF
from lab.egress import origin
from lab.egress.cases import CASES, STEERED, Answer, Case
from lab.egress.desk import Answers, Desk
from lab.egress.network import DOMAIN
from lab.egress.programs import Program, all_programs
from lab.egress.rig import Here, Route, proxy_listener
from lab.egress.tools import repository
from lab.endure.rows import Bar
from lab.gateway import Gateway, Page
from lab.processes import Failure

OPEN, NAMED = "open", "named"
"""Listeners: anybody may use the first, and those with a password the second."""
USER, PASSWORD = "shop", "s3cret"
HASH = "$2b$04$Hf/O/LxgELrvKjhvHwcixeBbQ4LYpZyiAEt0kTbbxFuP8PIYUGVQW"
AUTH = {"basicUsers": {USER: HASH}, "realm": "egress"}
FEW = ("bytes", "authorized", "unlengthed")
"""The cases of the short form that are asked with a password too."""


def steered(program: str) -> str:
    return f"{program}{STEERED}.{DOMAIN}"


def urls(program: str) -> dict[str, str]:
    name = f"{program}.{DOMAIN}"
    return {"http": f"http://{name}", "https": f"https://{name}", "steered": f"http://{steered(program)}"}


def routes(listener: str, program: str, **keys: object) -> list[Route]:
    """A program's own routes, whose numbers tell which way its requests have taken."""
    match = {"listener": listener, "host": f"{program}.{DOMAIN}"}
    return [
        {"name": f"{listener}-{program}-http", "match": match, "upstream": {"requested": {}}, **keys},
        {"name": f"{listener}-{program}-https", "match": match, "connect": {}, **keys},
        {
            "name": f"{listener}-{program}-steered",
            "match": {**match, "host": steered(program)},
            "upstream": {"requested": {"scheme": "https"}},
            **keys,
        },
    ]


@dataclass
class Outcome:
    program: Program
    asked: int = 0
    """Requests of each way."""
    right: int = 0
    wrong: list[str] = field(default_factory=list)

    def look(self, direct: Answers, cases: list[Case]) -> None:
        """Looks at the answers that the others are compared with."""
        self.asked = len(direct) // len(urls(self.program.name))
        statuses = {case.name: case.status for case in cases}
        for name, answer in direct.items():
            if answer.status != statuses.get(name.split()[1], 200):
                self.wrong.append(f"{self.program.name}, directly, {name}: {answer}")

    def compare(self, kind: str, direct: Answers, found: Answers) -> None:
        """
        >>> outcome = Outcome(Program("curl", None))
        >>> outcome.compare("open", {"http one": Answer(404, "0a"), "http two": Answer(200, "0b")}, {"http one": Answer(200, "0c")})
        >>> outcome.right, outcome.wrong
        (0, ['curl, open, http one: 200, 0c in place of 404, 0a', 'curl, open, http two: None in place of 200, 0b'])
        """
        for name, wanted in direct.items():
            if found.get(name) != wanted:
                self.wrong.append(f"{self.program.name}, {kind}, {name}: {found.get(name)} in place of {wanted}")
            else:
                self.right += 1

    def routed(self, page: Page) -> None:
        """Every program has taken the ways that it was meant to."""
        name = self.program.name
        for way in ("http", "https", "steered"):
            count = page.sum("weir_gateway_requests_total", route=f"{OPEN}-{name}-{way}")
            # A tunnel may have all requests of its way.
            if count < (1 if way == "https" else self.asked):
                self.wrong.append(f"{name}, {way}: {count:.0f} requests came through the gateway")
        ports = page.by("server_port", "weir_attempts_total", server_address=steered(name))
        if set(ports) != {"443"}:
            self.wrong.append(f"{name}, steered: went to the ports {', '.join(ports) or 'of none'}, not to 443")


async def same(here: Here) -> list[Bar]:
    programs = await all_programs(here.place)
    repositories = here.place.directory / "repositories"
    repositories.mkdir()
    await repository(repositories)
    for program in programs:
        here.network.name(f"{program.name}.{DOMAIN}")
        here.network.name(steered(program.name))
    await origin.start(here.place, here.network, repositories)
    listeners = [proxy_listener(name) for name in (OPEN, NAMED)]
    ways = [
        route
        for program in programs
        for route in (*routes(OPEN, program.name), *routes(NAMED, program.name, auth=AUTH))
    ]
    gateway = await here.gateway(listeners, ways)
    proxies = {
        OPEN: f"http://{listeners[0]['address']}",
        NAMED: f"http://{USER}:{PASSWORD}@{listeners[1]['address']}",
    }
    outcomes = await asyncio.gather(*(tried(here, gateway, program, proxies) for program in programs))
    return [
        Bar(f"{one.program.name} {one.right}{''.join(f'; {text}' for text in one.wrong)}", not one.wrong)
        for one in outcomes
    ]


async def tried(here: Here, gateway: Gateway, program: Program, proxies: dict[str, str]) -> Outcome:
    outcome = Outcome(program)
    cases = [case for case in CASES if program.can(case)]
    few = [case for case in cases if case.name in FEW] if here.short else cases

    async def ask(kind: str, cases: list[Case]) -> Answers:
        directory = here.place.directory / program.name / kind
        return await program.ask(Desk(directory, urls(program.name), cases, proxies.get(kind, "")))

    try:
        direct = await ask("direct", cases)
        outcome.look(direct, cases)
        outcome.compare(OPEN, direct, await ask(OPEN, cases))
        left_out = {case.name for case in cases} - {case.name for case in few}
        some = {name: answer for name, answer in direct.items() if name.split()[1] not in left_out}
        outcome.compare(NAMED, some, await ask(NAMED, few))
        outcome.routed(await gateway.page())
    except (Failure, *BROKEN_OFF) as failure:
        outcome.wrong.append(f"{program.name}: {failure}")
    return outcome

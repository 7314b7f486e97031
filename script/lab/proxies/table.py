"""The row about every way: kinds of requests and checks, kinds of proxies, and their states; the same with curl."""

import asyncio
from dataclasses import dataclass

from lab.endure.rows import Bar
from lab.gateway import Gateway
from lab.proxies.asking import (
    ENDPOINTS,
    HTTP,
    HTTPS,
    LATE,
    REFUSED,
    REQUESTS,
    UNAUTHORIZED,
    UNREACHABLE,
    UPGRADE,
    Answer,
    Told,
    Wanted,
    ask,
    curl,
    curls_right,
    entry,
    right,
    route,
    wrong_answers,
)
from lab.proxies.origin import ONCE
from lab.proxies.ways import DOWN, HUNG, NO_CREDENTIAL, REFUSES, Config, Here, Way

KINDS = HTTP, HTTPS, UPGRADE
CHECKS = {f"check-{kind}": kind for kind in (HTTP, HTTPS)}
"""Kinds of checks, and of the requests that they make."""
CHECK = {"path": "/health", "interval": "1s", "timeout": "1s"}
LEAST = 2
"""Good checks of each endpoint that are waited for."""


@dataclass
class Cell:
    kind: str
    way: Way

    @property
    def name(self) -> str:
        """That of its entry, and of its route if it has one."""
        return f"{self.way.name}-{self.kind}"

    @property
    def keys(self) -> Config:
        """Further keys of its entry."""
        return {"check": CHECK} if self.kind in CHECKS else {}

    @property
    def asks_proxy(self) -> bool:
        """Whether the proxy gets the requests themselves."""
        return CHECKS.get(self.kind, self.kind) == HTTP and self.way.takes_requests

    @property
    def wanted(self) -> Wanted:
        """
        >>> def wanted(kind, scheme, state):
        ...     return str(Cell(kind, Way("a", scheme, state, "")).wanted)
        >>> wanted("http", "http", "403"), wanted("http", "socks5", "403"), wanted("upgrade", "http", "basic")
        ('200', '502 proxy_refused', '101')
        >>> wanted("http", "https", "hung"), wanted("https", "https", "hung"), wanted("http", "https", "407")
        ('504', '504 proxy_timeout', '502 proxy_authentication')
        """
        match self.way.state:
            case state if state == DOWN:
                return Wanted(502, UNREACHABLE)
            case state if state == NO_CREDENTIAL:
                return Wanted(502, UNAUTHORIZED)
            case state if state == HUNG:
                # A server that hangs behind the proxy looks the same.
                return Wanted(504, "" if self.asks_proxy else LATE)
            case state if state == REFUSES and not self.asks_proxy:
                return Wanted(502, REFUSED)
        return Wanted(101 if self.kind == UPGRADE else 200)

    @property
    def is_good(self) -> bool:
        return Answer(self.wanted.status).good


async def table(here: Here) -> list[Bar]:
    requests, checks = ([Cell(kind, way) for way in here.ways for kind in kinds] for kinds in (KINDS, CHECKS))
    cells = [*requests, *checks]
    config = {
        "upstreams": [
            entry(here, cell.name, CHECKS.get(cell.kind, cell.kind), cell.way, **cell.keys) for cell in cells
        ],
        "routes": [route(cell.name, cell.kind, cell.way) for cell in cells],
    }
    gateway = await here.gateway("table", config)
    answers, beside = await asyncio.gather(
        asyncio.gather(*(ask(gateway, cell.name, cell.kind) for cell in requests)),
        asyncio.gather(*(curl(here, cell.way, cell.kind, cell.name) for cell in requests)),
    )
    await checks_came(gateway, [cell for cell in checks if cell.is_good])
    told = await Told.by(gateway)
    found = {
        cell.name: wrong_answers(came, rights(cell), cell.wanted)
        + told.wrong(cell.name, cell.way, cell.wanted)
        + unlike(cell, other)
        for cell, came, other in zip(requests, answers, beside)
    }
    found |= {cell.name: wrong_checks(told, cell) for cell in checks}
    await gateway.process.end()
    here.place.file("cells.md", "\n".join(lines(here.ways, found)) + "\n")
    bars = [bar(kind, [cell for cell in cells if cell.kind == kind], found) for kind in (*KINDS, *CHECKS)]
    return bars + [Bar(f"{name}: {'; '.join(texts)}", False) for name, texts in found.items() if texts]


def bar(kind: str, cells: list[Cell], found: dict[str, list[str]]) -> Bar:
    count = sum(not found[cell.name] for cell in cells)
    good = sum(cell.is_good for cell in cells)
    return Bar(f"{kind}: {count} of {len(cells)} cells right, {good} of them good", count == len(cells))


def rights(cell: Cell) -> list[Answer]:
    return [right(cell.kind, f"/{cell.name}/{number}") for number in range(REQUESTS)]


def unlike(cell: Cell, beside: Answer) -> list[str]:
    """The answer of curl's, if it is another one. It has words of its own for failures."""
    path = f"/{cell.name}/0"
    wanted = curls_right(cell.kind, path + ONCE if cell.kind == UPGRADE else path)
    if cell.is_good:
        return [] if beside == wanted else [f"curl has got {beside.status} {beside.body[:40]!r}"]
    return [f"curl has got {beside.status}"] if beside.good else []


async def checks_came(gateway: Gateway, cells: list[Cell]) -> None:
    """Returns once every endpoint that can be reached was. The others were checked as often by then."""
    end = asyncio.get_running_loop().time() + 60
    missing = {cell.name for cell in cells}
    while missing and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.5)
        page = (await Told.by(gateway)).page
        for name in list(missing):
            counts = page.by("endpoint", "weir_endpoint_checks_total", upstream=name, result="good")
            if len(counts) == len(ENDPOINTS) and min(counts.values()) >= LEAST:
                missing.discard(name)


def wrong_checks(told: Told, cell: Cell) -> list[str]:
    results = {
        result: round(number)
        for result, number in told.page.by("result", "weir_endpoint_checks_total", upstream=cell.name).items()
        if number
    }
    if cell.is_good:
        return [] if results.get("good", 0) >= LEAST * len(ENDPOINTS) else [f"checks were {results or 'none'}"]
    # A proxy that takes requests and hangs is not known from a server that does.
    if not cell.wanted.label:
        return [] if set(results) == {"timeout"} else [f"checks were {results or 'none'}"]
    return told.blamed(cell.name) + ([f"checks were {results}"] if results else [])


def lines(ways: list[Way], found: dict[str, list[str]]) -> list[str]:
    """The table. A cell that is not as it has to be says so."""
    kinds = [*KINDS, *CHECKS]
    rows = [f"| proxy | state | {' | '.join(kinds)} |", "|---" * (len(kinds) + 2) + "|"]
    for way in ways:
        cells = [Cell(kind, way) for kind in kinds]
        texts = [f"{cell.wanted}{' (!)' if found[cell.name] else ''}" for cell in cells]
        rows.append(f"| {way.name.removesuffix(f'-{way.state}')} | {way.state} | {' | '.join(texts)} |")
    return rows

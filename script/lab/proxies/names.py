"""The row about names: which side looks them up, and what a destination policy sees of that."""

import asyncio

from lab.endure.rows import Bar
from lab.proxies.asking import HTTP, HTTPS, Answer, got
from lab.proxies.daemons import BEHIND, OPEN
from lab.proxies.scripted import Recorder
from lab.proxies.ways import Config, Here, Way

OURS = "localhost"
"""A name that this machine knows."""
NETWORKS = ["127.0.0.0/8", "::1/128"]
POLICIES = {"allowed": {"allow": NETWORKS, "otherwise": "publicOnly"}, "denied": {"deny": NETWORKS, "otherwise": "any"}}


class Case:
    def __init__(self, here: Here, way: Way, kind: str, host: str, name: str = "", **keys: object) -> None:
        self.way = way
        self.name = name or f"{way.name}-{kind}"
        self.path = f"/{self.name}"
        origin = here.secure if kind == HTTPS else here.plain
        tls: Config = {"tls": here.upstream_tls()} if kind == HTTPS else {}
        about = {"scheme": kind, "endpoints": [f"{host}:{origin.port}"], "proxy": way.config(here.pair)}
        self.entry = {"name": self.name, **about, **tls, **keys}
        self.route = {"name": self.name, "match": {"path": self.path}, "upstream": self.name}


async def names(here: Here) -> list[Bar]:
    real = [Case(here, way, kind, BEHIND) for way in here.ways if way.state == OPEN for kind in (HTTP, HTTPS)]
    proxies = {scheme: await Recorder().start() for scheme in ("http", "socks5", "socks5h")}
    ways = {scheme: Way(f"recorder-{scheme}", scheme, OPEN, proxy.address) for scheme, proxy in proxies.items()}
    recorded = [Case(here, way, HTTPS, OURS) for way in ways.values()]
    allowed, denied = (
        Case(here, here.open("socks5"), HTTPS, OURS, name, destinationPolicy=policy)
        for name, policy in POLICIES.items()
    )
    cases = [*real, *recorded, allowed, denied]
    config = {"upstreams": [case.entry for case in cases], "routes": [case.route for case in cases]}
    gateway = await here.gateway("names", config)
    answers = dict(zip(cases, await asyncio.gather(*(got(gateway.address, case.path) for case in cases))))
    page = await gateway.page()
    await gateway.process.end()

    def good(case: Case) -> bool:
        return answers[case] == Answer(200, case.path.encode())

    wrong = [case for case in real if good(case) != case.way.resolves]
    asked = {scheme: sorted({word for word, _ in proxy.asked}) for scheme, proxy in proxies.items()}
    places = {scheme: {place.rpartition(":")[0] for _, place in proxy.asked} for scheme, proxy in proxies.items()}
    looked_up = [
        case.name
        for case in [*real, *recorded]
        if case.way.resolves and page.sum("weir_upstream_discoveries_total", upstream=case.name)
    ]
    return [
        Bar(f"{len(real) - len(wrong)} of {len(real)} ways to a name that the proxies alone know are right", not wrong),
        *(Bar(f"{case.name}: {answers[case].status}", False) for case in wrong),
        Bar(f"{sum(map(good, recorded))} of {len(recorded)} to one that weir knows", all(map(good, recorded))),
        Bar(
            f"proxies were asked for {asked}",
            asked == {"http": ["CONNECT"], "socks5": ["address"], "socks5h": ["name"]},
        ),
        Bar(f"of {OURS} two got the name", places["http"] == places["socks5h"] == {OURS} != places["socks5"]),
        Bar(f"looked up without need: {', '.join(looked_up) or 'none'}", not looked_up),
        Bar(
            f"by the policy {answers[allowed].status} if the address is allowed, {answers[denied].status} if it is denied",
            good(allowed) and answers[denied].status == 502,
        ),
    ]

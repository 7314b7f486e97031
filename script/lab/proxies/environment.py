"""The row about the proxies that the environment names, beside curl in the same one."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from lab.endure.rows import Bar
from lab.gateway import Gateway
from lab.processes import output
from lab.proxies.asking import HTTP, HTTPS, Answer, curls, got
from lab.proxies.daemons import PASSWORD, USER
from lab.proxies.scripted import Recorder
from lab.proxies.ways import Config, Here

EXCEPTIONS = "outside.test, 127.0.0.2, 127.1.0.0/16, .localhost"
TARGETS = [
    "127.0.0.1",
    "127.0.0.2",
    "127.1.2.3",
    "localhost",
    "api.localhost",
    "elsewhere.test",
    "outside.test",
    "in.outside.test",
]
"""Names of the domain `test` are the proxy's alone: without it there is no answer."""
VARIABLES = "http_proxy", "https_proxy", "all_proxy", "no_proxy"
ALL = [case for name in VARIABLES for case in (name, name.upper())]
OFF = "off"
"""The route that leads past all proxies."""


@dataclass(frozen=True)
class Seen:
    """The outcome of a request."""

    is_good: bool
    asked: tuple[str, str] | None
    """The request at the proxy: its method and its target."""


class Surroundings:
    """An environment."""

    def __init__(self, name: str, **variables: str) -> None:
        """In the values, `PROXY` stands for the proxy's address."""
        self.name, self.variables = name, variables

    def under(self, proxy: Recorder) -> tuple[str, ...]:
        """A command that runs another one in it."""
        settings = [f"{name}={value.replace('PROXY', proxy.address)}" for name, value in self.variables.items()]
        return ("env", *(word for name in ALL for word in ("-u", name)), *settings)


ENVIRONMENTS = [
    Surroundings("exceptions", http_proxy="http://PROXY", https_proxy="http://PROXY", no_proxy=EXCEPTIONS),
    Surroundings("capitals", ALL_PROXY="socks5h://PROXY", NO_PROXY=EXCEPTIONS),
    Surroundings("http", http_proxy="http://PROXY"),
    Surroundings("cgi", HTTP_PROXY="http://PROXY"),
    Surroundings("https", HTTPS_PROXY="http://PROXY"),
    Surroundings("both", http_proxy="http://PROXY", all_proxy="socks5h://PROXY"),
    Surroundings("nothing", http_proxy="http://PROXY", https_proxy="http://PROXY", no_proxy="*"),
    Surroundings("bare", http_proxy="PROXY"),
    Surroundings("empty", http_proxy="", https_proxy="http://PROXY"),
    Surroundings("user", http_proxy=f"http://{USER}:{PASSWORD}%21@PROXY"),
]
SHORT = ENVIRONMENTS[:2]


def url(here: Here, kind: str, host: str) -> str:
    return f"{kind}://{host}:{(here.secure if kind == HTTPS else here.plain).port}"


def targets() -> list[tuple[str, str]]:
    return [(kind, host) for kind in (HTTP, HTTPS) for host in TARGETS]


def config(here: Here) -> Config:
    def upstream(kind: str, host: str) -> Config:
        tls: Config = {"tls": here.upstream_tls()} if kind == HTTPS else {}
        return {"url": url(here, kind, host), **tls}

    routes = [
        {"name": f"{number}", "match": {"path": f"/{number}"}, "upstream": upstream(*target)}
        for number, target in enumerate(targets())
    ]
    off = {**upstream(HTTP, "127.0.0.1"), "proxy": "off"}
    return {
        "proxy": "environment",
        "routes": [*routes, {"name": OFF, "match": {"path": f"/{OFF}"}, "upstream": off}],
    }


async def environment(here: Here) -> list[Bar]:
    measured = await asyncio.gather(*(one_environment(here, one) for one in (SHORT if here.short else ENVIRONMENTS)))
    return [bar for bars in measured for bar in bars]


async def one_environment(here: Here, one: Surroundings) -> list[Bar]:
    proxy, beside = await Recorder().start(), await Recorder().start()
    gateway = await here.gateway(f"environment-{one.name}", config(here), under=one.under(proxy), workers=1)
    wrong, through = [], 0
    for number, (kind, host) in enumerate(targets()):
        path = f"/{number}"
        ours = await seen(proxy, got(gateway.address, path))
        curls_own = await seen(beside, curls("--insecure", url(here, kind, host) + path, under=one.under(beside)))
        through += ours.asked is not None
        if ours != curls_own:
            wrong.append(f"{kind} {host}: {ours}, curl {curls_own}")
    past = await seen(proxy, got(gateway.address, f"/{OFF}"))
    if past != Seen(True, None):
        wrong.append(f"{OFF}: {past}")
    if proxy.credentials != beside.credentials:
        wrong.append(f"credentials {proxy.credentials}, curl {beside.credentials}")
    wrong += await wrong_summary(here.place.program, gateway, one, proxy, bool(through))
    await gateway.process.end()
    text = f"{one.name}: {through} of {len(targets())} through a proxy"
    return [Bar(f"{text}, as curl's", not wrong)] + [Bar(f"{one.name}: {text}", False) for text in wrong]


async def seen(proxy: Recorder, asking: Awaitable[Answer]) -> Seen:
    before = len(proxy.asked)
    answer = await asking
    return Seen(answer.good, proxy.asked[before] if len(proxy.asked) > before else None)


async def wrong_summary(program: str, gateway: Gateway, one: Surroundings, proxy: Recorder, is_used: bool) -> list[str]:
    """`weir check` shows the proxies without their credentials."""
    status, text = await output(*one.under(proxy), program, "check", gateway.file)
    found = [f"weir check ends with {status}: {text}"] if status else []
    if is_used and proxy.address not in text:
        found.append(f"weir check does not show the proxy: {text}")
    if PASSWORD in text:
        found.append("weir check shows the password")
    return found

"""Certificates that are replaced under load."""

import asyncio
import time
from collections.abc import Callable

from lab.endure.rows import Bar, row
from lab.gateway import STILL, Gateway, Page
from lab.load import Loaded, Wrk
from lab.processes import Place, free_port
from lab.servers import nginx
from lab.tls import Pair

REPLACED = 100
LOOKS = 2
"""Certificates that are replaced without a signal."""
SEEN = 25
"""Seconds within which the gateway, which looks at the files every ten, has to show such a certificate."""


@row(
    "certificates",
    f"{REPLACED} certificates with SIGHUP and {LOOKS} without under load: 0 failed, each shown; a wrong key leaves the old one",
)
async def certificates(place: Place) -> list[Bar]:
    port = free_port()
    await nginx(place, [port])
    pair = await Pair(place.directory).make()
    config = f"""listeners:
  - {{ name: edge, address: "127.0.0.1:{free_port()}", tls: {pair.listener} }}
routes: [{{ name: all, upstream: "http://127.0.0.1:{port}" }}]
"""
    gateway = await Gateway.start(place, config)
    url = f"https://{gateway.address}/"
    # Each ends before its time.
    kept = await Wrk(place, url, 600, connections=16, name="kept").begin()
    anew = await Wrk(place, url, 600, connections=4, fields=["Connection: close"], name="anew").begin()
    shown = followed = 0
    for number in range(REPLACED):
        await pair.make(days=number + 1)
        await gateway.reload(config)
        shown += await pair.is_shown(gateway.address)
        followed += not_after(await gateway.page()) == await pair.ends()
    looks = [await seconds_to_show(gateway, pair, days=REPLACED + 1 + number) for number in range(LOOKS)]
    broken = await broken_pair(place, gateway, pair, config)
    loads = {"kept": await kept.stop(), "anew": await anew.stop()}
    page = await gateway.page()
    place.notes.append(f"looks at files {page.by('result', 'weir_tls_reloads_total')}")
    place.notes += [f"{name}: {' '.join(loaded.output.split())}" for name, loaded in loads.items()]
    late = [seconds for seconds in looks if seconds is None]
    times = ", ".join("never" if seconds is None else f"{seconds:.1f} s" for seconds in looks)
    return [
        *(failures(name, loaded) for name, loaded in loads.items()),
        Bar(f"{shown} of {REPLACED} shown after SIGHUP, {followed} on the page", shown == followed == REPLACED),
        Bar(f"without it after {times}", not late),
        *broken,
    ]


def failures(name: str, loaded: Loaded) -> Bar:
    return Bar(
        f"{name}: {loaded.failed} of {loaded.requests} failed", loaded.failed == 0 and loaded.requests > REPLACED
    )


def not_after(page: Page) -> float:
    return page.sum("weir_tls_certificate_not_after_seconds", listener="edge", certificate="endure")


async def seconds_to_show(gateway: Gateway, pair: Pair, days: int) -> float | None:
    """Replaces the certificate without a signal; None if it is not shown in time."""
    await pair.make(days)
    began = time.monotonic()
    while time.monotonic() < began + SEEN:
        if await pair.is_shown(gateway.address) and not_after(await gateway.page()) == await pair.ends():
            return time.monotonic() - began
        await asyncio.sleep(0.2)
    return None


async def broken_pair(place: Place, gateway: Gateway, pair: Pair, config: str) -> list[Bar]:
    """Puts the key of another certificate in the place of the key, then mends that."""
    await gateway.reload(config)
    shown = pair.certificate.read_text()
    other = await Pair(place.directory, "other").make()
    before, gateway.read = failed_looks(await gateway.page()), gateway.process.log.stat().st_size
    other.key.rename(pair.key)
    noticed = await within(SEEN, lambda page: failed_looks(page) > before, gateway)
    line = next((line for line in gateway.new_lines() if "listener=edge" in line and "TLS" in line), "no log line")
    place.notes.append(f"of a look: {line}")
    refused = STILL in await gateway.hang_up()
    refusal = next((line for line in gateway.new_lines() if "level=error" in line), "no log line")
    place.notes.append(f"of SIGHUP: {refusal}")
    page = await gateway.page()
    told = page.sum("weir_config_last_reload_successful") == 0
    stays = await pair.is_shown(gateway.address) and pair.certificate.read_text() == shown
    await pair.make(days=REPLACED * 2)
    await gateway.reload(config)
    mended = await pair.is_shown(gateway.address) and not_after(await gateway.page()) == await pair.ends()
    return [
        Bar(f"a wrong key is refused {'by' if noticed else 'not by'} a look", noticed and line != "no log line"),
        Bar(f"{'' if refused else 'not '}by SIGHUP", refused and told and "tls.certificates[0].key" in refusal),
        Bar(
            f"the old certificate {'stays' if stays else 'goes'}, the next one {'comes' if mended else 'does not'}",
            stays and mended,
        ),
    ]


def failed_looks(page: Page) -> float:
    return page.sum("weir_tls_reloads_total", listener="edge", result="failure")


async def within(seconds: float, holds: Callable[[Page], bool], gateway: Gateway) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds(await gateway.page()):
            return True
        await asyncio.sleep(0.2)
    return False

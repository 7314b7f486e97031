"""The row about secrets that change on disk under load."""

import asyncio
import time

from lab.credentials.rig import SECRET, Here, bad, failures, good, loaded, passes, swap
from lab.endure.rows import Bar
from lab.servers import write_anew

IN_FORCE = 2.0
"""Seconds within which the new value is used."""
ROTATING = "rotating"


async def changed(here: Here) -> list[Bar]:
    """A value of `headers.set` is renamed into its place, a bearer token swapped by a link, a client's secret written in place. The
    old ones and the new ones are good until a token of the old ones has ended."""
    rate = 50 if here.short else 200
    # A busy machine is late with a look at the files.
    both = here.lifetime + 3
    bound = both - 1 if here.short else IN_FORCE
    key, bearer, secret = (here.place.directory / name for name in ("key", "mount/bearer", "secret"))
    key.write_text("old-key\n")
    swap(bearer, "old-bearer\n")
    secret.write_text(f"{SECRET.format(ROTATING)}\n")
    old = [here.upstream.accept("key", "old-key"), here.upstream.accept("bearer", "Bearer old-bearer")]
    config = {
        "credentials": [
            {"name": "bearer", "bearer": {"file": str(bearer)}},
            here.oauth2(ROTATING, clientSecret={"file": str(secret)}),
        ],
        "routes": [
            here.plain_route("key", headers={"set": {"X-Key": {"file": str(key)}}}),
            here.route("bearer"),
            here.route(ROTATING),
        ],
    }
    gateway = await here.gateway("changed", config)
    loads = [loaded(gateway, f"/{name}", rate) for name in ("key", "bearer", ROTATING)]
    await asyncio.gather(*(good(load, rate) for load in loads))

    new = [here.upstream.accept("key", "new-key"), here.upstream.accept("bearer", "Bearer new-bearer")]
    another = SECRET.format("another")
    await here.service.order("rotate", client=ROTATING, secret=another, seconds=both)
    at = time.monotonic()
    for one in old:
        one.until = at + both
    write_anew(key, "new-key\n")
    swap(bearer, "new-bearer\n")
    secret.write_text(f"{another}\n")
    await passes(both)
    # As many that only the new values serve.
    await asyncio.gather(*(good(load, 2 * rate) for load in loads))
    for load in loads:
        await load.end()
    used = {one.owner: max(one.used) - at for one in old}
    asked = await here.service.asked(ROTATING)
    used[ROTATING] = max(one["at"] for one in asked if one["secret"] != another) - at
    in_force = {one.owner: bool(one.used) for one in new}
    in_force[ROTATING] = any(one["secret"] == another and one["status"] == 200 for one in asked)
    bars = [
        Bar(
            f"{name}: {bad(load.calls)} of {len(load.calls)} requests failed, the old value was used until {last:+.1f} s",
            bad(load.calls) == 0 and last < bound and in_force[name],
        )
        for load, (name, last) in zip(loads, used.items(), strict=True)
    ]
    for load in loads:
        here.place.notes.append(f"changed: {load.path}: {failures(load.calls)}")
    return [
        *bars,
        Bar(
            f"{sum(one['status'] != 200 for one in asked)} requests for a token were refused",
            all(one["status"] == 200 for one in asked),
        ),
    ]

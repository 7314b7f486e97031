"""Proves that a gateway gets, keeps and repairs the credentials of its calls, and shows none of them."""

from lab.credentials import answers, changes, outages, renewals, search
from lab.credentials.rig import Client, Here, TokenService, lifetime
from lab.credentials.upstream import Upstream
from lab.processes import Place
from lab.table import Rows, conduct

ROWS: Rows[Here] = {
    "hostile": ("every answer of a token service has its outcome", answers.answers),
    "ages": ("tokens that end soon: 0 requests fail, one request for each token", renewals.ages),
    "revoked": ("all tokens revoked: one refresh, no client sees it", renewals.revoked),
    "refused": ("403 and 401 for ever go to the client, few refreshes", renewals.refused),
    "down": ("the service is down: few refreshes, refusals at once, good at the end of the silence", outages.down),
    "changed": ("secrets that change on disk: in force in 2 s, 0 requests fail", changes.changed),
    "crowd": ("many requests at the start: one for a token", renewals.crowd),
    "shown": ("no secret is shown anywhere", search.shown),
}


async def surround(place: Place, short: bool) -> Here:
    upstream = Upstream()
    await upstream.start()
    soon = (Client(name, lifetime=lifetime(short)) for name in ("ages", changes.ROTATING))
    service = TokenService(place, upstream, *renewals.CLIENTS, *soon)
    await service.start()
    return Here(place, short, upstream, service)


if __name__ == "__main__":
    conduct("credentials", __doc__, "a minute, as a test", ROWS, surround)

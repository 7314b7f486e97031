"""The page of a real gateway, after some requests to each of its destinations."""

from lab.gateway import Gateway, Page
from lab.load import failed, send
from lab.origin import Origin, Request
from lab.processes import Failure, Place

REQUESTS = 300
"""For each destination."""
BAD = 50
"""One in so many first tries is answered 503, and every try of one in four of those."""


def configuration(ports: list[int]) -> str:
    """For each destination an entry of upstreams whose name is looked up, and a route."""
    lines = ["upstreams:"]
    lines += [f'  - {{ name: service-{number}, endpoints: ["localhost:{port}"] }}' for number, port in enumerate(ports)]
    lines += ["routes:"]
    lines += [
        f"  - {{ name: route-{number}, match: {{ pathPrefix: /{number}/ }}, upstream: service-{number},"
        " retry: { limit: 2, statusCodes: [503] } }"
        for number in range(len(ports))
    ]
    return "\n".join(lines) + "\n"


class NowAndThen(Origin):
    """Answers 200 with a short body, and now and then 503."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: set[bytes] = set()

    def asked(self, request: Request) -> None:
        request.connection.send(503 if self.fails(request.path) else 200, b"x" * 1024)

    def fails(self, path: bytes) -> bool:
        number = int(path.rpartition(b"/")[2])
        first = path not in self.tried
        self.tried.add(path)
        return number % (4 * BAD) == 0 or first and number % BAD == 0


async def gateway_page(place: Place, destinations: int) -> Page:
    origins = [await NowAndThen().start() for _ in range(destinations)]
    config = configuration([origin.port for origin in origins])
    gateway = await Gateway.start(place, config, name=f"gateway-{destinations}")
    count = REQUESTS * destinations
    answers = await send(
        gateway.address, count, 16, lambda number: ("GET", f"/{number // REQUESTS}/{number % REQUESTS}")
    )
    if set(answers) - {"200", "503"} or not failed(answers):
        raise Failure(f"the gateway answered {dict(answers)}")
    # The first page has no metrics of scrapes yet.
    for _ in range(2):
        page = await gateway.page()
    await gateway.process.end()
    for origin in origins:
        origin.stop()
    return page

"""The page of a real gateway, after some requests to each of its destinations."""

import asyncio
from pathlib import Path

from gateway import Gateway
from load import failed, send
from processes import Failure, Processes
from row import Place

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


class Origin:
    """Answers 200 with a short body, and now and then 503."""

    def __init__(self) -> None:
        self.tried: set[bytes] = set()

    async def start(self) -> asyncio.Server:
        return await asyncio.start_server(self.serve, "127.0.0.1", 0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                status = b"503 Unavailable" if self.fails(head.split(b" ", 2)[1]) else b"200 OK"
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: 1024\r\n\r\n%s" % (status, b"x" * 1024))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def fails(self, path: bytes) -> bool:
        number = int(path.rpartition(b"/")[2])
        first = path not in self.tried
        self.tried.add(path)
        return number % (4 * BAD) == 0 or first and number % BAD == 0


async def gateway_page(program: str, directory: Path, processes: Processes, destinations: int) -> str:
    origin = Origin()
    servers = [await origin.start() for _ in range(destinations)]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    place = Place(program, directory, processes)
    gateway = await Gateway.start(place, configuration(ports), name=f"gateway-{destinations}")
    count = REQUESTS * destinations
    answers = await send(
        gateway.address, count, 16, lambda number: ("GET", f"/{number // REQUESTS}/{number % REQUESTS}")
    )
    if set(answers) - {"200", "503"} or not failed(answers):
        raise Failure(f"the gateway answered {dict(answers)}")
    # The first page has no metrics of scrapes yet.
    for _ in range(2):
        page = await gateway.page()
    gateway.process.process.terminate()
    await gateway.process.process.wait()
    processes.started.remove(gateway.process)
    for server in servers:
        server.close()
    return page.text

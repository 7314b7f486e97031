"""Takeovers by SIGUSR2, and restarts with sockets that stay open, under load over TCP and over a Unix socket."""

import asyncio
import os
import signal
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

from load import Connection, Wrk
from processes import Failure, Process, free_port
from row import Bar, Place, Row
from servers import nginx

ROUNDS = 10
CALLERS = 64
TAKEN_OVER = 'msg="this process has taken over"'
STARTED = 'msg="the new process runs"'


class Callers:
    """Send requests over a Unix socket, which wrk can't, each caller one after the other, until `end`."""

    def __init__(self, address: str) -> None:
        self.counts: Counter[str] = Counter()
        self.goes_on = True
        self.tasks = [asyncio.create_task(self.call(Connection(address))) for _ in range(CALLERS)]

    async def call(self, connection: Connection) -> None:
        while self.goes_on:
            try:
                answer = await asyncio.wait_for(connection.ask(), 20)
                self.counts[str(answer.status)] += 1
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as failure:
                self.counts[type(failure).__name__] += 1
        connection.close()

    async def end(self) -> Bar:
        self.goes_on = False
        await asyncio.gather(*self.tasks)
        others = {word: count for word, count in self.counts.items() if word != "200"}
        return Bar(f"Unix: {sum(others.values())} of {self.counts.total()} failed {others or ''}".rstrip(), not others)


async def under_load(place: Place, port: int, unix: Path, rounds: Callable[[], Awaitable[None]]) -> list[Bar]:
    wrk = await Wrk(place, f"http://127.0.0.1:{port}/", 4 * ROUNDS).begin()
    callers = Callers(f"unix:{unix}")
    await asyncio.sleep(1)
    await rounds()
    if wrk.process.process.returncode is not None:
        raise Failure("the load ended before the last round; the machine is too busy")
    unix_bar = await callers.end()
    loaded = await wrk.end()
    return [Bar(f"TCP: {loaded.failed} of {loaded.requests} failed", loaded.failed == 0), unix_bar]


async def config(place: Place, port: int, unix: Path) -> Path:
    upstream = free_port()
    await nginx(place, [upstream])
    return place.file(
        "weir.yml",
        f"""listeners:
  - {{ name: tcp, address: "127.0.0.1:{port}" }}
  - {{ name: unix, address: "unix:{unix}" }}
routes: [{{ name: all, upstream: "http://127.0.0.1:{upstream}" }}]
""",
    )


async def ended(number: int) -> None:
    """Returns once a process is gone, or waits to be reaped."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        await asyncio.sleep(0.05)
    raise Failure(f"process {number} does not end")


async def takeovers(place: Place) -> list[Bar]:
    port, unix = free_port(), place.directory / "weir.sock"
    file = await config(place, port, unix)
    process = await place.processes.start(
        "weir", place.program, "serve", f"--config.file={file}", "--web.listen-address=127.0.0.1:0"
    )
    await process.logged('msg="serving metrics" url=')
    present = process.process.pid

    async def rounds() -> None:
        nonlocal present
        for number in range(1, ROUNDS + 1):
            before = present
            os.kill(before, signal.SIGUSR2)
            await count(process, TAKEN_OVER, number)
            last = process.log.read_text().rpartition(STARTED)[2]
            present = int(last.partition(" pid=")[2].split()[0])
            await ended(before)

    try:
        return await under_load(place, port, unix, rounds)
    finally:
        # The processes that took over are not children of ours.
        if present != process.process.pid:
            os.kill(present, signal.SIGTERM)
            await ended(present)


async def count(process: Process, text: str, number: int) -> None:
    for _ in range(400):
        if process.log.read_text().count(text) >= number:
            return
        await asyncio.sleep(0.1)
    raise Failure(f"no takeover: {process.tail()}")


async def restarts(place: Place) -> list[Bar]:
    """Here the row is the service manager, which has the sockets."""
    port, unix = free_port(), place.directory / "weir.sock"
    file = await config(place, port, unix)
    tcp_socket = socket.create_server(("127.0.0.1", port), backlog=1024)
    unix_socket = socket.socket(socket.AF_UNIX)
    unix_socket.bind(str(unix))
    unix_socket.listen(1024)
    tcp, path = descriptors = tcp_socket.fileno(), unix_socket.fileno()
    # Moved out of the way of the numbers that they get.
    script = (
        f"exec 98<&{tcp} 99<&{path} {tcp}<&- {path}<&-; exec 3<&98 4<&99 98<&- 99<&-; "
        'LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=tcp:unix exec "$@"'
    )
    flags = (f"--config.file={file}", "--web.listen-address=127.0.0.1:0")

    async def start(number: int) -> Process:
        command = ("bash", "-c", script, "bash", place.program, "serve", *flags)
        process = await place.processes.start(f"weir-{number}", *command, descriptors=descriptors)
        await process.logged('msg="serving metrics" url=')
        return process

    present = await start(0)

    async def rounds() -> None:
        nonlocal present
        for number in range(1, ROUNDS + 1):
            present.process.terminate()
            status = await present.process.wait()
            if status != 0:
                raise Failure(f"weir ended with {status}: {present.tail()}")
            present = await start(number)
            await asyncio.sleep(0.5)

    try:
        return await under_load(place, port, unix, rounds)
    finally:
        tcp_socket.close()
        unix_socket.close()


TAKEOVERS = Row("takeovers", "-", f"{ROUNDS} takeovers, wrk -c64 and {CALLERS} callers: 0 failed", takeovers)
RESTARTS = Row(
    "activated-restarts", "-", f"{ROUNDS} restarts with open sockets, wrk -c64 and {CALLERS} callers: 0 failed", restarts
)

"""Takeovers by SIGUSR2, and restarts with sockets that stay open, under load over TCP and over a Unix socket."""

import asyncio
import itertools
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

from lab.endure.rows import Bar, row
from lab.gateway import Gateway
from lab.load import Callers, Wrk, failed
from lab.processes import Failure, Place, Process, free_port
from lab.servers import nginx

ROUNDS = 10
CALLERS = 64
TAKEN_OVER = 'msg="this process has taken over"'
STARTED = 'msg="the new process runs"'


async def under_load(place: Place, port: int, unix: Path, rounds: Callable[[], Awaitable[None]]) -> list[Bar]:
    wrk = await Wrk(place, f"http://127.0.0.1:{port}/", 4 * ROUNDS).begin()
    # Over a Unix socket, which wrk can't.
    callers = Callers(f"unix:{unix}", CALLERS, itertools.repeat(("GET", "/")))
    await asyncio.sleep(1)
    await rounds()
    if wrk.process.process.returncode is not None:
        raise Failure("the load ended before the last round; the machine is too busy")
    counts, loaded = await callers.end(), await wrk.end()
    others = {word: count for word, count in counts.items() if word != "200"}
    return [
        Bar(f"TCP: {loaded.failed} of {loaded.requests} failed", loaded.failed == 0),
        Bar(f"Unix: {failed(counts)} of {counts.total()} failed {others or ''}".rstrip(), not others),
    ]


async def config(place: Place) -> tuple[int, Path, Path]:
    """The port and the path at which it listens, and the file that says so."""
    port, unix, upstream = free_port(), place.directory / "weir.sock", free_port()
    await nginx(place, [upstream])
    text = f"""listeners:
  - {{ name: tcp, address: "127.0.0.1:{port}" }}
  - {{ name: unix, address: "unix:{unix}" }}
routes: [{{ name: all, upstream: "http://127.0.0.1:{upstream}" }}]
"""
    return port, unix, place.file("weir.yml", text)


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


@row("takeovers", f"{ROUNDS} takeovers, wrk -c64 and {CALLERS} callers: 0 failed")
async def takeovers(place: Place) -> list[Bar]:
    port, unix, file = await config(place)
    process = (await Gateway.start(place, file)).process
    present = process.pid

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
        if present != process.pid:
            os.kill(present, signal.SIGTERM)
            await ended(present)


async def count(process: Process, text: str, number: int) -> None:
    """The first of the processes has the log of all, and may have ended."""
    for _ in range(400):
        if process.log.read_text().count(text) >= number:
            return
        await asyncio.sleep(0.1)
    raise Failure(f"no takeover: {process.tail()}")


@row("activated-restarts", f"{ROUNDS} restarts with open sockets, wrk -c64 and {CALLERS} callers: 0 failed")
async def restarts(place: Place) -> list[Bar]:
    """Here the row is the service manager, which has the sockets."""
    port, unix, file = await config(place)
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

    async def start(number: int) -> Process:
        under = ("bash", "-c", script, "bash")
        return (await Gateway.start(place, file, name=f"weir-{number}", under=under, descriptors=descriptors)).process

    present = await start(0)

    async def rounds() -> None:
        nonlocal present
        for number in range(1, ROUNDS + 1):
            if (status := await present.end()) != 0:
                raise Failure(f"weir ended with {status}: {present.tail()}")
            present = await start(number)
            await asyncio.sleep(0.5)

    try:
        return await under_load(place, port, unix, rounds)
    finally:
        tcp_socket.close()
        unix_socket.close()

"""Starts processes, and always ends them by their ids; and the common part of children: processes of ours that tell facts in lines of
standard output, obey the lines of standard input, and end with it."""

import asyncio
import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)
Seen = TypeVar("Seen")


class Failure(Exception):
    """Why a demonstration or a measurement failed, as a text for its user."""


def end_with_parent() -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path, beside: "list[Process]") -> None:
        self.name = name
        self.process = process
        self.pid = process.pid
        self.log = log
        self.beside = beside
        """The processes that are ended at last, of which this is one."""

    async def facts(self) -> AsyncIterator[dict[str, Any]]:
        """The facts that a child tells."""
        assert self.process.stdout
        async for line in self.process.stdout:
            yield json.loads(line)

    def order(self, order: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{order}\n".encode())

    async def until(self, look: Callable[[], Seen], failure: str, seconds: float = 30, pause: float = 0.1) -> Seen:
        """Looks until there is something to see, which it returns."""
        for _ in range(round(seconds / pause)):
            if seen := look():
                return seen
            self.check()
            await asyncio.sleep(pause)
        raise Failure(f"{self.name} {failure}: {self.tail()}")

    async def logged(self, before: str) -> str:
        """The word that stands behind a text in the log, once it does."""

        def word() -> str:
            _, _, rest = self.log.read_text().partition(before)
            return rest.split()[0] if "\n" in rest else ""

        return await self.until(word, "did not start")

    async def accepts(self, address: str) -> None:
        """Returns once it listens there."""
        host, port = address.split(":")

        def connects() -> bool:
            with suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
                return True
            return False

        await self.until(connects, "does not listen", seconds=15, pause=0.05)

    async def answers(self, url: str) -> None:
        """Returns once a GET succeeds."""

        def succeeds() -> bool:
            with suppress(OSError), urllib.request.urlopen(url, timeout=10):
                return True
            return False

        await self.until(succeeds, "does not become ready")

    def check(self) -> None:
        if self.process.returncode is not None:
            raise Failure(f"{self.name} ended with status {self.process.returncode}: {self.tail()}")

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends it before the others. Returns its exit status."""
        self.beside.remove(self)
        self.process.send_signal(number)
        return await self.process.wait()


async def output(*command: object) -> tuple[int, str]:
    """The exit status of a command, and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=end_with_parent,
    )
    try:
        text, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, text.decode(errors="replace")


class Place:
    """The program that is measured, and where a run leaves its files."""

    def __init__(self, program: str, directory: Path) -> None:
        self.program = program
        self.directory = directory
        self.started: list[Process] = []
        self.notes: list[str] = []
        """Further figures, which have nothing to reach."""

    @staticmethod
    def empty(program: str, directory: Path) -> "Place":
        """One that has nothing of an earlier run."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        return Place(program, directory)

    def file(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path

    async def start(
        self, name: str, *command: object, descriptors: Collection[int] = (), tells: bool = False
    ) -> Process:
        """Starts a command. It inherits `descriptors`, under their numbers, beside the standard streams. Its output is in the
        log, unless it tells facts."""
        log = self.directory / f"{name}.log"
        try:
            with log.open("wb") as file:
                process = await asyncio.create_subprocess_exec(
                    *map(str, command),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE if tells else file,
                    stderr=file,
                    # Ctrl-C is for the program that ends them.
                    start_new_session=True,
                    preexec_fn=end_with_parent,
                    pass_fds=descriptors,
                    limit=1 << 20,
                )
        except OSError as error:
            raise Failure(f"{command[0]} can't be started: {error.strerror}") from error
        self.started.append(Process(name, process, log, self.started))
        return self.started[-1]

    async def child(self, name: str, module: str, *arguments: object) -> Process:
        """Starts a module of this package, which tells facts."""
        return await self.start(name, sys.executable, "-m", f"lab.{module}", *arguments, tells=True)

    def check(self) -> None:
        for process in self.started:
            process.check()

    async def stop(self) -> None:
        """Those that were started last end first: callers, then gateways, then origins."""
        for process in reversed(self.started):
            if process.process.returncode is None:
                process.process.terminate()
        for process in self.started:
            try:
                await asyncio.wait_for(process.process.wait(), timeout=5)
            except TimeoutError:
                process.process.kill()
                await process.process.wait()
        self.started = []


PORTS = range(10_000, 32_000)
"""Below those that the system gives to connections, which begin at 32768."""


def next_number() -> int:
    """Counts on in the file that this user's tests in Swift share (LoopbackPort), so that none of them is given the same port."""
    file = os.open(f"/tmp/weir-test-ports.{os.getuid()}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        number = int.from_bytes(os.pread(file, 8, 0), "little") + 1 & 0xFFFF_FFFF
        os.pwrite(file, number.to_bytes(8, "little"), 0)
        return number
    finally:
        os.close(file)


def free_port() -> int:
    for _ in PORTS:
        port = PORTS[next_number() % len(PORTS)]
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Failure("no free port on the loopback")


def free_address() -> str:
    return f"127.0.0.1:{free_port()}"


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


async def each_second(take: Callable[[int], None]) -> None:
    """Calls at the end of each second, with its number. Seconds are those of the monotonic clock, which all processes of a
    machine share."""
    while True:
        second = int(time.monotonic())
        await asyncio.sleep(second + 1 - time.monotonic())
        take(second)


async def obey(take: Callable[[], dict[str, object]], orders: dict[str, Callable[..., object]]) -> None:
    """Tells each second what `take` returns, until standard input ends. A line of that is the name of an order and its arguments."""
    telling = asyncio.create_task(each_second(lambda second: tell(second=second, **take())))
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        order, *arguments = line.decode().split()
        orders[order](*arguments)
    telling.cancel()

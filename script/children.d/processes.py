"""Starts processes, and always ends them by their ids."""

import asyncio
import ctypes
import json
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Collection
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


class Failure(Exception):
    """Why a demonstration or a measurement failed, as a text for its user."""


def end_with_parent() -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.process = process
        self.log = log

    async def facts(self) -> AsyncIterator[dict[str, Any]]:
        """What a child of ours tells (child.py)."""
        assert self.process.stdout
        async for line in self.process.stdout:
            yield json.loads(line)

    def order(self, order: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{order}\n".encode())

    async def logged(self, before: str) -> str:
        """The word that stands behind a text in the log, once it does."""
        for _ in range(300):
            self.check()
            _, found, rest = self.log.read_text().partition(before)
            if found and "\n" in rest:
                return rest.split()[0]
            await asyncio.sleep(0.1)
        raise Failure(f"{self.name} did not start: {self.tail()}")

    async def accepts(self, address: str) -> None:
        """Returns once it listens there."""
        host, port = address.split(":")
        for _ in range(300):
            self.check()
            try:
                _, writer = await asyncio.open_connection(host, int(port))
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            return
        raise Failure(f"{self.name} does not listen: {self.tail()}")

    def check(self) -> None:
        if self.process.returncode is not None:
            raise Failure(f"{self.name} ended with status {self.process.returncode}: {self.tail()}")

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])


class Processes:
    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.started: list[Process] = []

    async def start(self, name: str, *command: object, descriptors: Collection[int] = ()) -> Process:
        """Starts a command. It inherits `descriptors`, under their numbers, beside the standard streams."""
        log = self.logs / f"{name}.log"
        try:
            with log.open("wb") as file:
                process = await asyncio.create_subprocess_exec(
                    *map(str, command),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE if command[0] == sys.executable else file,
                    stderr=file,
                    # Ctrl-C is for the program that ends them.
                    start_new_session=True,
                    preexec_fn=end_with_parent,
                    pass_fds=descriptors,
                    limit=1 << 20,
                )
        except OSError as error:
            raise Failure(f"{command[0]} can't be started: {error.strerror}") from error
        self.started.append(Process(name, process, log))
        return self.started[-1]

    def check(self) -> None:
        for process in self.started:
            process.check()

    async def end(self, process: Process, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends one of them before the others. Returns its exit status."""
        self.started.remove(process)
        process.process.send_signal(number)
        return await process.process.wait()

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


def free_port() -> int:
    """A port below those that the system gives to connections, which begin at 32768."""
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Failure("no free port on the loopback")


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in nested groups."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in leaves(one)]


async def judge(name: str, run: Awaitable[list[str]]) -> int:
    """The exit status of a run, whose result is what it has found wrong. Prints that; a signal ends the run."""
    this = asyncio.current_task()
    assert this
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, this.cancel)
    try:
        found = await run
    except asyncio.CancelledError:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    except (Failure, OSError) as failure:
        found = [str(failure)]
    except ExceptionGroup as group:
        expected, others = group.split((Failure, OSError))
        if others or not expected:
            raise
        found = [str(failure) for failure in leaves(expected)]
    for one in found:
        print(f"{name}: {one}", file=sys.stderr)
    return 1 if found else 0

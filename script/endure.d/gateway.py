"""The gateway that a row measures, and what the system tells of it."""

import asyncio
import os
import re
import signal
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from page import Page
from processes import Failure, Process
from row import Place

RELOADED = 'msg="configuration reloaded"'
STILL = 'msg="the configuration stays as it was"'


class Gateway:
    def __init__(self, process: Process, file: Path, address: str, metrics: str) -> None:
        self.process = process
        self.file = file
        self.address = address
        self.metrics = metrics
        self.pid = process.process.pid
        self.read = 0
        """How much of the log earlier reloads have read."""

    @staticmethod
    async def start(
        place: Place, config: str, *flags: str, name: str = "weir", under: Sequence[str] = ()
    ) -> "Gateway":
        """Starts one with two workers. Its address is that of the first listener, if the file has any. `under` is a
        command that runs the program."""
        file = place.file(f"{name}.yml", config)
        addresses = ["--web.listen-address=127.0.0.1:0"]
        if not config.startswith("listeners:"):
            addresses.append("--gateway.listen-address=127.0.0.1:0")
        process = await place.processes.start(
            name, *under, place.program, "serve", f"--config.file={file}", "--gateway.workers=2", *addresses, *flags
        )
        address = (await process.logged("msg=forwarding url=")).partition("://")[2].rstrip("/")
        return Gateway(process, file, address, await process.logged('msg="serving metrics" url='))

    async def page(self) -> Page:
        return await asyncio.to_thread(Page.at, self.metrics)

    async def reload(self, config: str) -> float:
        """Has it read another file. Returns the seconds from the signal to the log line, by the time in that line."""
        temporary = self.file.with_suffix(".new")
        temporary.write_text(config)
        temporary.rename(self.file)
        began = time.time()
        line = await self.hang_up()
        if STILL in line:
            raise Failure(f"{self.file} was refused: {self.process.tail()}")
        return logged_at(line) - began

    async def hang_up(self) -> str:
        """Sends SIGHUP. Returns the log line that says what came of it."""
        self.read = self.process.log.stat().st_size
        self.process.process.send_signal(signal.SIGHUP)
        return await self.logs(RELOADED, STILL)

    async def logs(self, *texts: str, within: float = 30) -> str:
        """The first new line with one of these texts."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            self.process.check()
            for line in self.new_lines():
                if any(text in line for text in texts):
                    return line
            await asyncio.sleep(0.005)
        raise Failure(f"no {' or '.join(texts)} within {within:.0f} s: {self.process.tail()}")

    def new_lines(self) -> list[str]:
        with self.process.log.open("rb") as log:
            log.seek(self.read)
            return log.read().decode(errors="replace").splitlines()

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def processor_time(self) -> float:
        """Seconds of all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """KiB of memory."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1])


def logged_at(line: str) -> float:
    """
    >>> logged_at("time=1970-01-01T00:00:01.500Z level=info")
    1.5
    """
    return datetime.fromisoformat(line.split("time=", 1)[1].split()[0]).timestamp()


ESTABLISHED, CLOSE_WAIT = "01", "08"


def connected(port: int) -> set[str]:
    """The IPv4 addresses with a connection to this port that its near end has not closed. Only the gateway makes such
    connections, since each row has ports of its own."""
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, _, remote, state, *_ = line.split()
        address, _, number = remote.partition(":")
        if int(number, 16) == port and state in (ESTABLISHED, CLOSE_WAIT):
            found.add(".".join(str(octet) for octet in reversed(bytes.fromhex(address))))
    return found


def flow(items: Sequence[str]) -> str:
    """A list in the form of YAML."""
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"

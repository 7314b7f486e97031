"""The gateway that is measured, its page of metrics, and what the system tells of it."""

import os
import re
import signal
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from lab.client import get
from lab.processes import Failure, Place, Process
from lab.servers import write_anew

RELOADED = 'msg="configuration reloaded"'
STILL = 'msg="the configuration stays as it was"'
LABEL = re.compile(r'(\w+)="([^"]*)"')
Sample = tuple[dict[str, str], float]


class Page:
    def __init__(self, text: str) -> None:
        self.text = text

    def samples(self, name: str, **labels: str) -> Iterator[Sample]:
        """The samples of exactly this name that have these labels.

        >>> list(Page('a{b="c"} 2\\na_sum 3\\n').samples("a", b="c"))
        [({'b': 'c'}, 2.0)]
        """
        for line in re.findall(rf"^{name}(?:{{.*}})? .*$", self.text, re.MULTILINE):
            found = dict(LABEL.findall(line))
            if labels.items() <= found.items():
                yield found, float(line.rsplit(" ", 1)[1])

    def sum(self, name: str, **labels: str) -> float:
        return sum(value for _, value in self.samples(name, **labels))

    def value(self, name: str) -> float:
        """The sum of samples of which there has to be one.

        >>> Page('a 1\\nab{c="d"} 2e3\\nab{c="e"} 1\\n').value("ab")
        2001.0
        """
        if not any(self.samples(name)):
            raise Failure(f"the page has no {name}")
        return self.sum(name)

    def by(self, label: str, name: str, **labels: str) -> dict[str, float]:
        """The sums for each value of a label."""
        sums: dict[str, float] = {}
        for found, value in self.samples(name, **labels):
            sums[found[label]] = sums.get(found[label], 0) + value
        return sums

    def identities(self) -> set[str]:
        """The names and labels of all series."""
        return {line.rpartition(" ")[0] for line in self.text.splitlines() if not line.startswith("#")}


class Gateway:
    def __init__(self, process: Process, file: Path, address: str, metrics: str) -> None:
        self.process = process
        self.file = file
        self.address = address
        self.metrics = metrics
        self.pid = process.pid
        self.read = 0
        """How much of the log earlier reloads have read."""

    @staticmethod
    async def start(
        place: Place,
        config: str | Path,
        *flags: str,
        name: str = "weir",
        workers: int = 2,
        ports: tuple[int, int] = (0, 0),
        under: Sequence[str] = (),
        descriptors: Collection[int] = (),
    ) -> "Gateway":
        """Starts one with the text of a configuration, or with a file. Its address is that of the first listener, if the file
        has any; otherwise `ports` are those for requests and for metrics, and 0 is any. `under` is a command that runs the
        program."""
        file = config if isinstance(config, Path) else place.file(f"{name}.yml", config)
        addresses = [f"--web.listen-address=127.0.0.1:{ports[1]}"]
        if not file.read_text().startswith("listeners:"):
            addresses.append(f"--gateway.listen-address=127.0.0.1:{ports[0]}")
        command = (*under, place.program, "serve", f"--config.file={file}", f"--gateway.workers={workers}")
        process = await place.start(name, *command, *addresses, *flags, descriptors=descriptors)
        address = (await process.logged("msg=forwarding url=")).partition("://")[2].rstrip("/")
        return Gateway(process, file, address, await process.logged('msg="serving metrics" url='))

    async def page(self) -> Page:
        return Page((await get(self.metrics)).decode())

    async def reload(self, config: str) -> float:
        """Has it read another file. Returns the seconds from the signal to the log line, by the time in that line."""
        write_anew(self.file, config)
        began = time.time()
        line = await self.hang_up()
        if STILL in line:
            raise Failure(f"{self.file} was refused: {self.process.tail()}")
        return logged_at(line) - began

    async def hang_up(self) -> str:
        """Sends SIGHUP. Returns the log line that says what came of it."""
        self.read = self.process.log.stat().st_size
        self.process.process.send_signal(signal.SIGHUP)

        def result() -> str:
            return next((line for line in self.new_lines() if RELOADED in line or STILL in line), "")

        return await self.process.until(result, "does not reload", pause=0.005)

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
        return memory(self.pid, "VmRSS")


def memory(pid: int, kind: str) -> int:
    """KiB."""
    found = re.search(rf"{kind}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1])


def logged_at(line: str) -> float:
    """
    >>> logged_at("time=1970-01-01T00:00:01.500Z level=info")
    1.5
    """
    return datetime.fromisoformat(line.split("time=", 1)[1].split()[0]).timestamp()


def flow(items: Sequence[str]) -> str:
    """A list in the form of YAML."""
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"

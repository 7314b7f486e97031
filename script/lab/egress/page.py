"""The row about docs/egress.md: its configurations are right, and its commands print what it shows."""

import asyncio
import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from lab.client import get
from lab.egress import origin
from lab.egress.network import DOMAIN, ROOTS
from lab.egress.rig import Here
from lab.endure.rows import Bar
from lab.gateway import RELOADED, Page
from lab.processes import Failure, Process, output

PAGE = Path("docs/egress.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVE = "weir serve"
METRICS = "http://127.0.0.1:9464"
HOST = f"api.{DOMAIN}"
PATIENCE = 20
"""Seconds until an output has to be right: what is counted at the end of a tunnel comes a moment later."""


def blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of a page, each with its language; those that show an output have none.

    >>> blocks("One:\\n\\n```sh\\ntrue\\n```\\n\\n```\\ndone\\n```\\n")
    [('sh', 'true\\n'), ('', 'done\\n')]
    """
    return [(found[1], found[2]) for found in BLOCK.finditer(text)]


def missing(shown: str, printed: str) -> list[str]:
    """The lines that a page shows and that were not printed, if all numbers are alike.

    >>> missing("a 1\\nb\\n", "c\\r\\na 17\\r\\n")
    ['b']
    """

    def alike(line: str) -> str:
        return re.sub(r"\d+", "0", line.strip())

    lines = set(map(alike, printed.splitlines()))
    return [line for line in shown.splitlines() if line.strip() and alike(line) not in lines]


@dataclass
class Reader:
    """Does what the page says, one block after another, as one person in one shell."""

    here: Here
    weir: Process | None = None
    exports: str = ""
    commands: str = ""
    """The last ones that were run."""
    run: int = 0
    """The blocks of commands so far."""

    @property
    def directory(self) -> Path:
        return self.here.place.directory

    async def shell(self, commands: str) -> tuple[int, str]:
        """The exit status, and what was printed."""
        program = Path(self.here.place.program).parent
        environment = (f"PATH={program}:{os.environ['PATH']}", f"HOME={self.directory}", f"SSL_CERT_FILE={ROOTS}")
        script = f"set -euo pipefail\ncd {self.directory}\n{self.exports}{commands}"
        return await output("env", "-i", *environment, "bash", "-c", script)

    async def configure(self, text: str) -> None:
        (self.directory / "weir.yml").write_text(text)
        status, said = await self.shell("weir check weir.yml")
        if status:
            raise Failure(f"{said}of\n{text}")
        if self.weir:
            reloads = self.weir.log.read_text().count(RELOADED)
            await self.shell(f"kill -HUP {self.weir.pid}")
            await self.weir.until(lambda: self.weir and self.weir.log.read_text().count(RELOADED) > reloads, "stays")

    async def act(self, commands: str, shows_nothing: bool) -> None:
        self.run += 1
        for line in commands.splitlines():
            if line.startswith(SERVE):
                serve = line.split("#")[0].replace("weir.yml", str(self.directory / "weir.yml")).split()[1:]
                self.weir = await self.here.place.start("weir", self.here.place.program, *serve)
                await self.weir.answers(f"{METRICS}/-/ready")
        self.commands = "".join(f"{line}\n" for line in commands.splitlines() if not line.startswith(SERVE))
        self.exports += "".join(f"{line}\n" for line in commands.splitlines() if line.startswith("export "))
        if shows_nothing and (said := await self.shell(self.commands))[0]:
            raise Failure(f"{self.commands.strip()}\nends with status {said[0]}: {said[1]}")

    async def compare(self, shown: str) -> None:
        end = time.monotonic() + PATIENCE
        while lost := missing(shown, printed := (await self.shell(self.commands))[1]):
            if time.monotonic() > end:
                raise Failure(f"{self.commands.strip()}\nprints no {lost[0]!r} but\n{printed}")
            await asyncio.sleep(0.2)


async def page(here: Here) -> list[Bar]:
    here.network.name(HOST)
    await origin.start(here.place, here.network, here.place.directory)
    reader, shown, parts = Reader(here), 0, blocks(PAGE.read_text())
    for (language, text), (following, _) in zip(parts, [*parts[1:], ("end", "")], strict=True):
        match language:
            case "yaml":
                await reader.configure(text)
            case "sh":
                await reader.act(text, shows_nothing=following != "")
            case "":
                await reader.compare(text)
                shown += 1
    if not (reader.weir and shown):
        raise Failure(f"{PAGE} starts no weir, or shows nothing")
    metrics = Page((await get(f"{METRICS}/metrics")).decode())
    measured = metrics.by("server_port", "weir_requests_total", server_address=HOST)
    status = json.loads(await get(f"{METRICS}/status.json"))
    named = {one["name"] for one in status["upstreams"]}
    return [
        Bar(f"{reader.run} blocks of commands, {shown} outputs as shown", True),
        Bar(f"measured at the ports {', '.join(sorted(measured))}", {"80", "443"} <= set(measured)),
        Bar(f"on the status page: {', '.join(sorted(named))}", any(HOST in name for name in named)),
    ]

"""Where a program works: its directory, its environment with or without a proxy, and what it is to ask."""

import asyncio
import hashlib
import os
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from lab.egress.cases import Answer, Case
from lab.egress.network import ROOTS
from lab.processes import Failure, end_with_parent

Answers = dict[str, Answer]
"""By the way and the case."""
LONGEST = 90
"""Seconds that a command may take."""


@dataclass
class Ran:
    status: int
    said: str
    complaint: str


@dataclass
class Desk:
    directory: Path
    urls: dict[str, str]
    """The beginnings of the URLs that are asked for, by the way that they take."""
    cases: list[Case]
    proxy: str = ""
    """The URL of the gateway; empty for none."""

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True)
        self.out = self.directory / "out"

    @property
    def environment(self) -> dict[str, str]:
        """No other settings reach a program, and no file of its user's."""
        proxies = {"http_proxy": self.proxy, "https_proxy": self.proxy} if self.proxy else {}
        roots = dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(ROOTS))
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH")}
        return {**kept, "HOME": str(self.directory), "LC_ALL": "C", **roots, **proxies}

    async def begin(self, *command: object) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *map(str, command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            cwd=self.directory,
            preexec_fn=end_with_parent,
        )

    async def run(self, *command: object, given: bytes = b"") -> Ran:
        process = await self.begin(*command)
        try:
            async with asyncio.timeout(LONGEST):
                said, complaint = await process.communicate(given)
        except TimeoutError as error:
            raise Failure(f"{command[0]} did not end in {LONGEST} s") from error
        finally:
            if process.returncode is None:
                process.kill()
        return Ran(process.returncode or 0, said.decode(errors="replace"), complaint.decode(errors="replace"))

    async def each(self, ask: Callable[["Desk", str, Case], Awaitable[Answer]]) -> Answers:
        return {
            f"{way} {case.name}": await ask(self, url, case) for way, url in self.urls.items() for case in self.cases
        }

    def taken(self, case: Case, status: str, length: str = "") -> Answer:
        """The answer whose body is in the file `out`."""
        body = self.out.read_bytes() if self.out.exists() and case.method != "HEAD" else b""
        self.out.unlink(missing_ok=True)
        return Answer(int(status), hashlib.sha256(body).hexdigest(), length if case.method == "HEAD" else "")

    def sent(self, case: Case) -> Path:
        path = self.directory / "sent"
        path.write_bytes(case.sent)
        return path

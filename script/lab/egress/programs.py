"""The programs that are given the gateway as their proxy. None of them was written here; those of `asks` are libraries' callers."""

import json
import re
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from lab.egress.cases import Answer, Case, told
from lab.egress.desk import Answers, Desk
from lab.egress.tools import APT, apt, git
from lab.processes import Failure, Place

STATUS = re.compile(r"^ *HTTP/1\.[01] (\d+)", re.MULTILINE)
LENGTH = re.compile(r"^ *Content-Length: (\d+)", re.MULTILINE)


async def curl(desk: Desk, url: str, case: Case) -> Answer:
    options = [option for name, value in case.fields.items() for option in ("--header", f"{name}: {value}")]
    if case.method == "HEAD":
        options.append("--head")
    elif case.body:
        options += ["--data-binary", f"@{desk.sent(case)}"]
    if case.chunked:
        options += ["--header", "Transfer-Encoding: chunked"]
    ran = await desk.run(
        *("curl", "--silent", "--show-error", "--location", "--output", desk.out, *options),
        *("--write-out", "%{http_code} %header{content-length}", url + case.path),
    )
    status, _, length = ran.said.partition(" ")
    if ran.status:
        raise Failure(f"curl {case.name}: {ran.complaint.strip()}")
    return desk.taken(case, status, length)


async def wget(desk: Desk, url: str, case: Case) -> Answer:
    options = [f"--header={name}: {value}" for name, value in case.fields.items()]
    if case.body:
        options.append(f"--body-file={desk.sent(case)}")
    ran = await desk.run(
        *("wget", "--no-verbose", "--server-response", "--content-on-error", "--tries=1", "--no-hsts"),
        *(f"--output-document={desk.out}", f"--method={case.method}", *options, url + case.path),
    )
    statuses, lengths = STATUS.findall(ran.complaint), LENGTH.findall(ran.complaint)
    if not statuses:
        raise Failure(f"wget {case.name}: {ran.complaint.strip()}")
    return desk.taken(case, statuses[-1], lengths[-1] if lengths else "")


async def asked(desk: Desk, *command: object) -> Answers:
    """The answers that a program of our own got by a library, which asks all cases in one go."""
    order = {"urls": desk.urls, "cases": told(desk.cases)}
    ran = await desk.run(*command, given=json.dumps(order).encode())
    if ran.status:
        raise Failure(f"{command[-1]}: {(ran.complaint.strip().splitlines() or ['no answer'])[-1]}")
    found = json.loads(ran.said)
    return {f"{way} {name}": Answer(**one) for way, answers in found.items() for name, one in answers.items()}


def library(name: str) -> Callable[[Desk], Awaitable[Answers]]:
    return lambda desk: asked(desk, sys.executable, "-m", "lab.egress.asks", name)


@dataclass
class Program:
    name: str
    ask: Callable[[Desk], Awaitable[Answers]]
    can: Callable[[Case], bool] = lambda case: True
    """Whether the program can make a request of this kind."""


PROGRAMS = [
    Program("curl", lambda desk: desk.each(curl)),
    # Its bodies have a length.
    Program("wget", lambda desk: desk.each(wget), lambda case: not case.chunked),
    Program("requests", library("requests")),
    Program("httpx", library("httpx")),
    Program("aiohttp", library("aiohttp")),
    Program("git", git, lambda case: False),
    Program("apt", apt, lambda case: case.name in APT),
]


async def all_programs(place: Place) -> list[Program]:
    """With Go's, if there is a compiler."""
    if not shutil.which("go"):
        place.notes.append("Go is LEFT OUT: there is no compiler; script/setup --bench installs it")
        return PROGRAMS
    made = place.directory / "asks-go"
    process = await place.start(
        "go", "env", "GO111MODULE=off", "go", "build", "-o", made, Path(__file__).with_name("asks.go")
    )
    if await process.process.wait():
        raise Failure(f"asks.go was not compiled: {process.tail()}")
    return [*PROGRAMS, Program("go", lambda desk: asked(desk, made))]

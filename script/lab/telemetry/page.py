"""The row about docs/telemetry.md: its collector and its configurations are right, and its commands print what it shows."""

import asyncio
import re
import sys
import time
from pathlib import Path

from lab.egress.page import blocks, missing
from lab.endure.rows import Bar
from lab.processes import Failure, Place, free_port, output
from lab.telemetry.judge import PHASES

PAGE = Path("docs/telemetry.md")
PORTS = ("4318", "8080", "9000")
PATIENCE = 30
"""Seconds until the output has to be right."""


def alike(text: str) -> str:
    """Without what differs from run to run: the identifier of the trace, and the phases that took more than 1 ms.

    >>> alike("trace 43436e72a5b486b75bfa6e0434500121\\n  1-4 ms GET error.type=a dns")
    'trace 0\\n  1-4 ms GET error.type=a'
    """
    return re.sub(rf" ({'|'.join(PHASES)})\b", "", re.sub(r"\b[0-9a-f]{32}\b", "0", text))


async def page(place: Place) -> list[Bar]:
    text = PAGE.read_text()
    for port in PORTS:
        text = text.replace(f":{port}", f":{free_port()}").replace(f'", {port})', f'", {free_port()})')
    # The collector names its port apart from its address.
    endpoint = re.search(r"endpoint: \"http://127\.0\.0\.1:(\d+)\"", text)
    if not endpoint:
        raise Failure("the page has no endpoint")
    found = blocks(text)
    collector = next(block for language, block in found if language == "python")
    place.file("collector.py", re.sub(r'ADDRESS = \("127\.0\.0\.1", \d+\)', f'ADDRESS = ("127.0.0.1", {endpoint[1]})', collector))
    files = [block for language, block in found if language == "yaml"]
    place.file("weir.yml", files[0])
    for number, file in enumerate(files):
        path = place.file(f"example-{number}.yml", file)
        status, said = await output(place.program, "check", path)
        if status:
            raise Failure(said)
    start, ask = (block for language, block in found if language == "sh")
    shown = next(block for language, block in found if not language)
    gateway = re.search(r"curl -s (http://\S+?)/cart", ask)
    address = gateway[1].removeprefix("http://") if gateway else ""
    if "python3 collector.py > spans.txt &" not in start or "weir serve --config.file=weir.yml &" not in start:
        raise Failure("the page starts other programs")
    spans = place.directory / "spans.txt"
    await place.start("collector", "sh", "-c", f"exec {sys.executable} {place.directory}/collector.py > {spans}")
    flags = (f"--gateway.listen-address={address}", "--web.listen-address=127.0.0.1:0")
    weir = await place.start("weir", place.program, "serve", f"--config.file={place.directory}/weir.yml", *flags)
    await weir.accepts(address)
    await output("bash", "-c", ask.splitlines()[0])
    printed, lacking = "", [""]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        printed = spans.read_text() if spans.exists() else ""
        lacking = missing(alike(shown), alike(printed))
        if not lacking:
            break
        await asyncio.sleep(0.2)
    return [
        Bar(f"{len(files)} configurations are right", True),
        Bar(f"the trace is as shown{f', but for {lacking}, in {printed.splitlines()}' if lacking else ''}", not lacking),
        Bar(f"{len(collector.splitlines())} lines of Python", len(collector.splitlines()) <= 50),
    ]



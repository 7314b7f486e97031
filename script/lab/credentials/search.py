"""The row about secrets that must not be seen: it makes gateways say all that they say, and looks for the secrets in it."""

import asyncio
import os
import shutil
import signal
from collections import Counter
from pathlib import Path

from lab.client import Pool, get
from lab.credentials.hoard import Hoard, Indiscreet, accept_some, broken, configuration
from lab.credentials.rig import Here, passes, swap, text
from lab.endure.rows import Bar
from lab.processes import free_port, output
from lab.servers import write_anew

FORMATS: dict[str, dict[str, object]] = {
    "logfmt": {"format": "json", "fields": ["query", "user_agent", "referer", "header Authorization", "header X-Key"]},
    "json": {"format": "combined"},
}
"""The formats of logs, and the access log beside each."""
NUMBER = 40
REFUSED, SPOILT = "the configuration stays as it was", "a secret's file can't be used"
CRASHED = "Backtrace took"
ROUNDS = 3
SILENCE = 1.3
"""Seconds after which the first silence is over."""


class Speaker:
    """A gateway with all secrets that says what it can, at `debug`."""

    def __init__(self, here: Here, hoard: Hoard, service: Indiscreet, form: str) -> None:
        self.place, self.form = here.place, form
        self.access = here.place.directory / f"access-{form}.log"
        log = {"to": str(self.access), **FORMATS[form]}
        self.config = configuration(hoard, here.upstream.address, service.address, log)
        self.file = here.place.file(f"shown-{form}.yml", text(self.config))
        self.wrong = here.place.file(f"wrong-{form}.yml", text(broken(hoard)))
        self.said: dict[str, str] = {}
        self.statuses = Counter[int]()

    async def begin(self) -> None:
        requests, metrics = free_port(), free_port()
        self.process = await self.place.start(
            f"shown-{self.form}",
            *("env", f"SWIFT_BACKTRACE=enable=yes,interactive=no,color=no,swift-backtrace={backtracer()}"),
            *(self.place.program, "serve", f"--config.file={self.file}", "--gateway.workers=1"),
            *(f"--gateway.listen-address=127.0.0.1:{requests}", f"--web.listen-address=127.0.0.1:{metrics}"),
            *("--log.level=debug", f"--log.format={self.form}"),
        )
        self.pages = f"http://127.0.0.1:{metrics}"
        await self.process.answers(f"{self.pages}/-/ready")
        self.pool = Pool(f"127.0.0.1:{requests}")

    async def answer(self) -> None:
        """A request of each route."""
        asked = (self.pool.ask(f"/{route['name']}?q=1", "User-Agent: proof\r\n") for route in self.config["routes"])
        for answer in await asyncio.gather(*asked):
            self.statuses[answer.status] += 1
            self.say("answers", f"{answer.fields}\n{answer.body.decode(errors='replace')}\n")

    async def refuse(self) -> None:
        """A configuration that is wrong, at a reload."""
        write_anew(self.file, self.wrong.read_text())
        self.process.process.send_signal(signal.SIGHUP)
        await self.logs(REFUSED)
        write_anew(self.file, text(self.config))

    async def show(self) -> None:
        for name in ("metrics", "status", "status.json"):
            self.say(name, (await get(f"{self.pages}/{name}")).decode())

    async def check(self) -> None:
        for name, *arguments in (("good", self.file), ("asked", self.file, "--credentials"), ("wrong", self.wrong)):
            self.say(f"check {name}", (await output(self.place.program, "check", *arguments))[1])

    async def crash(self) -> None:
        """Writes a backtrace, if there is a program for that. It survives a signal that another process sends. The program
        begins at the log's first line again."""
        self.say("access log", self.access.read_text())
        self.say("log", self.process.log.read_text(errors="replace"))
        if backtracer():
            self.process.process.send_signal(signal.SIGSEGV)
            await self.logs(CRASHED)
        await self.process.end(signal.SIGKILL)
        self.say("backtrace", self.process.log.read_text(errors="replace"))

    async def logs(self, words: str) -> None:
        log = self.process.log
        await self.process.until(lambda: words in log.read_text(errors="replace"), f"has not logged: {words}")

    def say(self, where: str, what: str) -> None:
        place = f"{where} ({self.form})"
        self.said[place] = self.said.get(place, "") + what


async def shown(here: Here) -> list[Bar]:
    """Looks for all secrets in all that two gateways say."""
    hoard = Hoard(here.place.directory / "hoard")
    service = Indiscreet(hoard, here.upstream)
    await service.start()
    both = [Speaker(here, hoard, service, form) for form in FORMATS]
    accept_some(hoard, here.upstream)
    for speaker in both:
        await speaker.begin()
    for _ in range(ROUNDS):
        await asyncio.gather(*(speaker.answer() for speaker in both))
        here.upstream.revoke("token-jwt")
        await passes(SILENCE)
    # Two lines are no value of a field.
    swap(hoard.path("bearer-file"), f"{hoard.text('bearer-file')}\n{hoard.text('bearer')}\n")
    for speaker in both:
        await speaker.logs(SPOILT)
        await speaker.refuse()
        await speaker.show()
    swap(hoard.path("bearer-file"), f"{hoard.text('bearer-file')}\n")
    for speaker in both:
        await speaker.check()
        await speaker.crash()
    service.stop()
    return judge(here, hoard, both)


def judge(here: Here, hoard: Hoard, both: list[Speaker]) -> list[Bar]:
    texts = {place: text for speaker in both for place, text in speaker.said.items()}
    for place, said in texts.items():
        here.place.file(f"said in {place}.txt", said)
    found = [f"{name} in {place}" for place, said in texts.items() for name in hoard.found(said)]
    statuses = sum((speaker.statuses for speaker in both), Counter[int]())
    octets, traces = sum(map(len, texts.values())), sum(CRASHED in said for said in texts.values())
    here.place.notes.append(f"shown: {', '.join(f'{place}: {len(said)} octets' for place, said in texts.items())}")
    return [
        Bar(f"{len(hoard.hidden)} secrets", len(hoard.hidden) == NUMBER),
        Bar(f"{len(found)} found in {len(texts)} texts of {octets} octets", not found),
        *(Bar(one, False) for one in found),
        Bar(
            f"answers: {', '.join(f'{number} × {status}' for status, number in sorted(statuses.items()))}",
            {200, 401, 503} <= set(statuses),
        ),
        Bar(f"{traces} backtraces", traces == len(FORMATS) or not backtracer()),
    ]


def backtracer() -> str:
    """The path of Swift's; empty if there is none."""
    swift = shutil.which("swift")
    path = Path(os.path.realpath(swift or "")).parent.parent / "libexec/swift/linux/swift-backtrace"
    return str(path) if swift and path.exists() else ""

"""git, and the method by which apt fetches files: programs with requests of their own."""

import asyncio
import hashlib
import random
import re
from collections.abc import Iterable
from pathlib import Path

from lab.egress.cases import Answer
from lab.egress.desk import LONGEST, Answers, Desk
from lab.processes import Failure, output

# MARK: git

REPOSITORY = "repository.git"
FILE = 1_500_000
"""Bytes of a file: more than git sends with a length."""
AUTHOR = ("-c", "user.name=laboratory", "-c", "user.email=laboratory@example.com")


def a_file(seed: int) -> bytes:
    """A file that does not get smaller."""
    return random.Random(seed).randbytes(FILE)


async def repository(directory: Path) -> None:
    """One with a commit, to which everybody may push."""
    bare, work = directory / REPOSITORY, directory / "work"
    await local("init", "--quiet", "--bare", "--initial-branch=main", bare)
    await local("-C", bare, "config", "http.receivepack", "true")
    await local("init", "--quiet", "--initial-branch=main", work)
    await commit(work, a_file(1))
    await local("-C", work, "push", "--quiet", bare, "main")


async def commit(work: Path, content: bytes) -> None:
    (work / "file").write_bytes(content)
    await local("-C", work, "add", "file")
    await local(*AUTHOR, "-C", work, "commit", "--quiet", "--message=file")


async def local(*arguments: object) -> str:
    status, said = await output("git", *arguments)
    if status:
        raise Failure(f"git {' '.join(map(str, arguments))}: {said.strip()}")
    return said.strip()


async def git(desk: Desk) -> Answers:
    """Clones the repository, and pushes a branch of its own. What it gets is the file, and the branch's name."""
    found = {}
    for number, (way, url) in enumerate(desk.urls.items()):
        work, branch = desk.directory / way, f"{desk.directory.name}-{way}"
        remote = f"{url}/git/{REPOSITORY}"
        cloned = await desk.run("git", "clone", "--quiet", remote, work)
        if cloned.status:
            raise Failure(f"git clone, {way}: {cloned.complaint.strip()}")
        found[f"{way} clone"] = Answer(200, hashlib.sha256((work / "file").read_bytes()).hexdigest())
        await commit(work, a_file(number + 2))
        pushed = await desk.run("git", "-C", work, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        if pushed.status:
            raise Failure(f"git push, {way}: {pushed.complaint.strip()}")
        # What the server has now, asked by the same way.
        told = await desk.run("git", "ls-remote", remote, f"refs/heads/{branch}")
        whole = told.said.split()[:1] == [await local("-C", work, "rev-parse", "HEAD")]
        found[f"{way} push"] = Answer(200 if whole else 0, "pushed")
    return found


# MARK: apt

APT = ("bytes", "mebibyte", "chunks", "missing", "failing", "redirects", "elsewhere")
"""The cases that it can ask for: it gets files."""
METHODS = Path("/usr/lib/apt/methods")
FAILED = re.compile(r"(?:HttpError)(\d+)")
Message = dict[str, str]


class Method:
    """A process of one of apt's methods, to which it speaks in messages (libapt's method interface). It asks for several files at once,
    over one connection."""

    @staticmethod
    async def begin(desk: Desk, scheme: str) -> "Method":
        made = Method()
        made.process = await desk.begin(METHODS / scheme)
        # Files are written by the user that we are.
        made.send("601 Configuration", ["Config-Item: APT::Sandbox::User=root", "Config-Item: Acquire::Retries=0"])
        return made

    process: asyncio.subprocess.Process

    def send(self, kind: str, lines: Iterable[str]) -> None:
        assert self.process.stdin
        self.process.stdin.write("".join(f"{line}\n" for line in [kind, *lines, ""]).encode())

    def acquire(self, url: str, file: Path) -> None:
        self.send("600 URI Acquire", [f"URI: {url}", f"Filename: {file}"])

    async def message(self) -> tuple[int, Message]:
        assert self.process.stdout
        text = (await self.process.stdout.readuntil(b"\n\n")).decode()
        kind, *lines = text.strip().splitlines()
        return int(kind.split()[0]), {name: value for name, _, value in (line.partition(": ") for line in lines)}


async def apt(desk: Desk) -> Answers:
    found = {}
    async with asyncio.timeout(LONGEST):
        for way, url in desk.urls.items():
            # It does not follow a redirect from https to http.
            wanted = {
                url + case.path: case.name
                for case in desk.cases
                if not (case.name == "elsewhere" and url.startswith("https:"))
            }
            answers = await fetched(desk, wanted)
            found.update({f"{way} {name}": answer for name, answer in answers.items()})
    return found


async def fetched(desk: Desk, wanted: dict[str, str]) -> Answers:
    """Has all URLs fetched, and follows those that lead to the other scheme, as apt does."""
    methods: dict[str, Method] = {}
    found: Answers = {}
    while wanted:
        scheme = next(iter(wanted)).partition(":")[0]
        if scheme not in methods:
            methods[scheme] = await Method.begin(desk, scheme)
        method = methods[scheme]
        asked = {url: wanted.pop(url) for url in list(wanted) if url.startswith(f"{scheme}:")}
        for url, name in asked.items():
            method.acquire(url, desk.directory / name)
        while asked:
            kind, message = await method.message()
            if kind == 103:
                wanted[message["New-URI"]] = asked.pop(message["URI"])
            elif kind == 201:
                file = Path(message["Filename"])
                found[asked.pop(message["URI"])] = Answer(200, hashlib.sha256(file.read_bytes()).hexdigest())
                file.unlink()
            elif kind in (400, 401):
                refused = FAILED.match(message.get("FailReason", ""))
                if not refused:
                    raise Failure(f"apt: {message}")
                found[asked.pop(message["URI"])] = Answer(int(refused[1]), "")
    for method in methods.values():
        method.process.kill()
    return found

"""A program in Python that asks by requests, httpx or aiohttp, and takes its proxies from its environment:

    python -m lab.egress.asks LIBRARY

Standard input is JSON: `urls`, the beginnings of URLs by a name, and `cases`, which are asked at each. Prints the answers by name and
case."""

import asyncio
import hashlib
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from lab.egress.cases import Answer, Case

PIECE = 64 << 10
LONGEST = 60
"""Seconds that a request may take."""


def answer(case: Case, status: int, body: bytes, fields: Mapping[str, str]) -> Answer:
    length = fields.get("Content-Length", "") if case.method == "HEAD" else ""
    return Answer(status, hashlib.sha256(body).hexdigest(), length)


def pieces(case: Case) -> Iterator[bytes]:
    for start in range(0, case.body, PIECE):
        yield case.sent[start : start + PIECE]


async def pieces_later(case: Case) -> AsyncIterator[bytes]:
    for piece in pieces(case):
        yield piece


def sent(case: Case) -> Any:
    """A body of a known length, one of an unknown length, or none."""
    return pieces(case) if case.chunked else case.sent or None


def by_requests(url: str, cases: list[Case]) -> list[Answer]:
    import requests

    found = []
    with requests.Session() as session:
        for case in cases:
            got = session.request(
                case.method,
                url + case.path,
                data=sent(case),
                headers=case.fields,
                allow_redirects=True,
                timeout=LONGEST,
            )
            found.append(answer(case, got.status_code, got.content, got.headers))
    return found


def by_httpx(url: str, cases: list[Case]) -> list[Answer]:
    import httpx

    found = []
    with httpx.Client(follow_redirects=True, timeout=LONGEST) as client:
        for case in cases:
            got = client.request(case.method, url + case.path, content=sent(case), headers=case.fields)
            found.append(answer(case, got.status_code, got.content, got.headers))
    return found


def by_aiohttp(url: str, cases: list[Case]) -> list[Answer]:
    import aiohttp
    from yarl import URL

    async def ask() -> list[Answer]:
        found = []
        async with aiohttp.ClientSession(trust_env=True, timeout=aiohttp.ClientTimeout(LONGEST)) as session:
            for case in cases:
                body = pieces_later(case) if case.chunked else sent(case)
                target = URL(url + case.path, encoded=True)
                async with session.request(case.method, target, data=body, headers=case.fields) as got:
                    found.append(answer(case, got.status, await got.read(), got.headers))
        return found

    return asyncio.run(ask())


LIBRARIES = {"requests": by_requests, "httpx": by_httpx, "aiohttp": by_aiohttp}


def main(library: str) -> None:
    order = json.load(sys.stdin)
    cases = [Case(**case) for case in order["cases"]]
    answers = {
        name: {case.name: vars(one) for case, one in zip(cases, LIBRARIES[library](url, cases), strict=True)}
        for name, url in order["urls"].items()
    }
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])

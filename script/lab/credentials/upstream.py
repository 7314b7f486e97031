"""An upstream that takes only the credentials that are valid now, and keeps what it saw."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field

from lab.credentials.server import Request, Server, response

NEVER, SCOPED, KEY = "/never", "/scoped", "/key"
"""Paths of which the first refuses every credential, the second wants the scope `write`, and the third looks at `X-Key`; the others
look at `Authorization`."""
ACCEPT = "/-/accept"
"""Token services tell their tokens there before they hand them out."""
INVALID = 'WWW-Authenticate: Bearer error="invalid_token"\r\n'
INSUFFICIENT = 'WWW-Authenticate: Bearer error="insufficient_scope", scope="write"\r\n'


@dataclass
class Valid:
    owner: str
    until: float
    """By the monotonic clock."""
    scope: str = ""
    used: list[float] = field(default_factory=list)
    """When requests came with it, whether it was still valid or not."""


class Upstream(Server):
    def __init__(self) -> None:
        super().__init__(self.judge)
        self.known: dict[str, Valid] = {}
        """By the value of the field."""
        self.statuses: Counter[tuple[str, int]] = Counter()
        """How often a path was answered so."""
        self.latency: dict[str, float] = {}
        """Seconds until requests with this path are looked at."""

    def accept(self, owner: str, value: str, seconds: float = 3600, scope: str = "") -> Valid:
        """
        >>> upstream = Upstream()
        >>> valid = upstream.accept("shop", "Bearer a", scope="read")
        >>> [upstream.status(path, "Bearer a") for path in ("/", SCOPED, NEVER)], upstream.status("/", "Bearer b")
        ([200, 403, 401], 401)
        >>> upstream.revoke("shop"), upstream.status("/", "Bearer a"), len(valid.used)
        (None, 401, 4)
        """
        self.known[value] = Valid(owner, time.monotonic() + seconds, scope)
        return self.known[value]

    def revoke(self, owner: str) -> None:
        for one in self.owned(owner):
            one.until = 0

    def owned(self, owner: str) -> list[Valid]:
        """In the order in which they became valid."""
        return [one for one in self.known.values() if one.owner == owner]

    def status(self, path: str, value: str) -> int:
        now, valid = time.monotonic(), self.known.get(value)
        if valid:
            valid.used.append(now)
        if not valid or now >= valid.until or path.startswith(NEVER):
            return 401
        return 403 if path.startswith(SCOPED) and "write" not in valid.scope.split() else 200

    async def judge(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if request.path == ACCEPT:
            self.accept(**json.loads(request.body))
            return writer.write(response(204))
        await asyncio.sleep(self.latency.get(request.path, 0))
        value = request.fields.get("x-key" if request.path.startswith(KEY) else "authorization", "")
        status = self.status(request.path, value)
        self.statuses[request.path, status] += 1
        why = {401: INVALID, 403: INSUFFICIENT}.get(status, "")
        writer.write(response(status, "good" if status == 200 else "refused", f"X-Origin: 1\r\n{why}"))

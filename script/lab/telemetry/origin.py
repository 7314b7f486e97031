"""The server behind the gateway: each request names a case, whose answers it gives one after the other. It has the tokens too."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence

from lab.credentials.server import Request, request, response, told
from lab.processes import free_port
from lab.servers import echo

LATE = 1.0
"""Seconds until the head of an answer that is late, and until a token."""


class Origin:
    """It listens at all addresses of the loopback, so that each case may have a destination of its own. An answer is a status,
    perhaps with a field behind it, or one of these words:

    late     200, after a while
    last     200, a while after the next request of its case was answered, or began to hang
    hang     none, until the connection is closed
    begun    a part of a body, and no more until the connection is closed
    cut      a part of a body, and the end of the connection
    lost     the connection is closed in place of an answer
    upgrade  101, and then what comes goes back
    """

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self.answers = answers
        self.port = free_port()
        self.seen: dict[str, list[Request]] = {name: [] for name in answers}
        self.came = asyncio.Condition()
        self.left: Counter[str] = Counter()
        """Requests of a case that hung until their connections were closed."""

    async def start(self) -> "Origin":
        self.server = await asyncio.start_server(self.serve, "0.0.0.0", self.port, backlog=1024)
        return self

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                await self.answer(await request(reader), reader, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the gateway closed the connection
        finally:
            writer.close()

    async def answer(self, asked: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/-/token":
            # Each token is another one.
            token = {"access_token": secrets.token_hex(), "token_type": "Bearer", "expires_in": 3600}
            await asyncio.sleep(LATE)
            return writer.write(told(200, token))
        if asked.path == "/-/no-token":
            return writer.write(told(400, {"error": "invalid_client"}))
        name = asked.fields.get("user-agent", "").split(" ")[0]
        seen = self.seen[name]
        seen.append(asked)
        number = len(seen)
        answer = self.answers[name][min(number, len(self.answers[name])) - 1]
        async with self.came:
            self.came.notify_all()
        match answer:
            case "late" | "last":
                if answer == "last":
                    await self.until(name, requests=number + 1)
                await asyncio.sleep(LATE)
                writer.write(response(200))
            case "hang" | "begun":
                if answer == "begun":
                    writer.write(response(200, "whole")[:-2])
                await reader.read()
                self.left[name] += 1
                async with self.came:
                    self.came.notify_all()
                writer.close()
            case "cut":
                writer.write(response(200, "whole")[:-2])
                writer.close()
            case "lost":
                writer.close()
            case "upgrade":
                writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
                await echo(reader, writer)
            case _:
                status, _, field = answer.partition(" ")
                body = "" if asked.method == "HEAD" else "ok"
                writer.write(response(int(status), body, f"{field}\r\n" if field else ""))

    async def until(self, name: str, left: bool = False, requests: int = 1) -> None:
        """Returns once so many requests of the case are here, or one has been given up."""
        async with asyncio.timeout(10), self.came:
            await self.came.wait_for(lambda: self.left[name] if left else len(self.seen[name]) >= requests)

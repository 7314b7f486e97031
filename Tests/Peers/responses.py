#!/usr/bin/env python3
"""Says how two other parsers read HTTP/1.1 responses to a GET: h11, and httptools (llhttp, as Node.js has it).

    responses.py FILE

The file has the bytes of a connection in each line, as hexadecimal digits. For each, a line is printed with a verdict
of h11 and one of httptools: the status and the body, as hexadecimal digits, or `refused`. An end of the connection
follows the bytes; httptools can't be told of it, so an incomplete response is `refused` by it unless it is
`200:6162 open`, a body that only the end of the connection ends.
"""

import sys

import h11
import httptools


def by_h11(data: bytes) -> str:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    connection.send(h11.EndOfMessage())
    status, body = 0, b""
    try:
        connection.receive_data(data)
        ended = not data
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if ended:
                    return "refused"
                connection.receive_data(b"")
                ended = True
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return verdict(status, body)
            elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                return "refused"
    except h11.RemoteProtocolError:
        return "refused"


class Listener:
    """Notes the first final response."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.body = b""
        self.is_complete = False

    def on_headers_complete(self) -> None:
        if not self.is_complete:
            self.status = self.parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if not self.is_complete:
            self.body += body

    def on_message_complete(self) -> None:
        if self.status >= 200 or self.status == 101:
            self.is_complete = True


def by_httptools(data: bytes) -> str:
    listener = Listener()
    try:
        listener.parser.feed_data(data)
    except httptools.HttpParserUpgrade:
        return verdict(listener.status, listener.body)
    except httptools.HttpParserError:
        # Bytes behind the response are the next one to it.
        if not listener.is_complete:
            return "refused"
    if listener.is_complete:
        return verdict(listener.status, listener.body)
    if listener.status >= 200:
        return verdict(listener.status, listener.body) + " open"
    return "refused"


def verdict(status: int, body: bytes) -> str:
    return f"{status}:{body.hex()}"


def main() -> None:
    with open(sys.argv[1], encoding="ascii") as file:
        for line in file:
            data = bytes.fromhex(line.strip())
            print(f"{by_h11(data)}\t{by_httptools(data)}")


if __name__ == "__main__":
    main()

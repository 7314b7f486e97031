"""Slow clients: each sends or takes a few bytes a second. At each line of standard input tells how many are open, and how many
were closed by the other side so far. `lab.endure.slowly ADDRESS KIND COUNT PATH [again]`; with `again` a client that was closed comes
again after some seconds."""

import select
import socket
import sys
import time
from collections.abc import Callable

from lab.processes import tell
from lab.tls import client_hello

SLICES = 20
"""Parts of a second; in each of them its share of the clients does something."""
AT_ONCE = 20
"""Connections that are opened in one part."""
ABSENT = 5
"""Seconds after which a client comes again."""
TAKEN = 1024
"""Bytes that a reader takes in a second."""


GET = "GET {} HTTP/1.1\r\nHost: endure\r\n\r\n"
BEGINNINGS: dict[str, str] = {
    "head": "GET / HTTP/1.1\r\nHost: endure\r\nX-Slow: ",
    "body": "POST / HTTP/1.1\r\nHost: endure\r\nContent-Length: 100000\r\n\r\n",
    "handshake": "",
    **dict.fromkeys(("reader", "sip", "pause"), GET),
}
HELLO = client_hello()


class Client:
    def __init__(self, address: tuple[str, int], kind: str, path: str) -> None:
        self.kind = kind
        self.sent = 0
        self.socket = socket.create_connection(address, timeout=30)
        self.socket.setblocking(False)
        self.socket.send(BEGINNINGS[kind].format(path).encode())

    def act(self) -> None:
        """Does what it does once a second. Raises an OSError once the connection is over."""
        match self.kind:
            case "reader":
                self.take(TAKEN)
            case "sip":
                self.take(1)
            case "pause":
                pass
            case "handshake":
                # All but the last byte, so that the other side never has a whole one.
                if self.sent < len(HELLO) - 1:
                    self.socket.send(HELLO[self.sent : self.sent + 1])
                    self.sent += 1
                self.take(4096)
            case _:
                self.socket.send(b"x")
                # An answer is a refusal.
                if self.take(4096):
                    raise ConnectionError

    def take(self, count: int) -> int:
        try:
            taken = len(self.socket.recv(count))
        except BlockingIOError:
            return 0
        if taken == 0:
            raise ConnectionError
        return taken


class Crowd:
    def __init__(self, make: Callable[[], Client], count: int, comes_again: bool) -> None:
        self.make = make
        self.comes_again = comes_again
        self.closed = 0
        self.slices: list[list[Client]] = [[] for _ in range(SLICES)]
        self.due = [0.0] * count
        """When further clients come."""

    def step(self, number: int) -> None:
        clients = self.slices[number]
        for client in list(clients):
            try:
                client.act()
            except OSError:
                self.over(clients, client)
        for _ in range(AT_ONCE):
            if not self.due or self.due[0] > time.monotonic():
                break
            self.due.pop(0)
            try:
                clients.append(self.make())
            except OSError:
                self.ended()

    def over(self, clients: list[Client], client: Client) -> None:
        client.socket.close()
        clients.remove(client)
        self.ended()

    def ended(self) -> None:
        self.closed += 1
        if self.comes_again:
            self.due.append(time.monotonic() + ABSENT)

    def find_closed(self) -> None:
        """Those that take nothing are not told that their connections are over; the poller is."""
        poller = select.poll()
        places = {client.socket.fileno(): (clients, client) for clients in self.slices for client in clients}
        for descriptor in places:
            poller.register(descriptor, 0)
        for descriptor, _ in poller.poll(0):
            self.over(*places[descriptor])

    def tell(self) -> None:
        self.find_closed()
        tell(open=sum(map(len, self.slices)), closed=self.closed)


def main(address: str, kind: str, count: str, path: str, *again: str) -> None:
    host, port = address.split(":")
    crowd = Crowd(lambda: Client((host, int(port)), kind, path), int(count), again == ("again",))
    orders = select.poll()
    orders.register(sys.stdin, select.POLLIN)
    began, number = time.monotonic(), 0
    while True:
        crowd.step(number % SLICES)
        number += 1
        rest = max(0.0, began + number / SLICES - time.monotonic())
        if orders.poll(rest * 1000):
            if not sys.stdin.buffer.raw.read(4096):
                return
            crowd.tell()


if __name__ == "__main__":
    main(*sys.argv[1:])

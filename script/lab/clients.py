"""Clients that stay: each opens a connection, makes a request and is idle. Tells how many were answered; at each line of
standard input all ask again, over the same connections.

    python -m lab.clients ADDRESS COUNT PATH [tls]
"""

import ssl
import sys
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPException, HTTPSConnection

from lab.processes import tell
from lab.tls import any_certificate


def connected(address: str, context: ssl.SSLContext | None) -> HTTPConnection:
    made = HTTPSConnection(address, timeout=30, context=context) if context else HTTPConnection(address, timeout=30)
    made.connect()
    # One that was closed stays so.
    made.auto_open = 0
    return made


def answered(clients: Iterable[HTTPConnection], path: str) -> int:
    count = 0
    for client in clients:
        try:
            client.request("GET", path)
            response = client.getresponse()
            response.read()
            count += response.status == 200
        except (OSError, HTTPException):
            pass
    return count


def main(address: str, count: str, path: str, *kind: str) -> None:
    context = any_certificate() if kind == ("tls",) else None
    clients: list[HTTPConnection] = []
    came = 0
    for _ in range(int(count)):
        clients.append(connected(address, context))
        came += answered(clients[-1:], path)
    tell(answered=came)
    for _ in sys.stdin:
        tell(answered=answered(clients, path))


if __name__ == "__main__":
    main(*sys.argv[1:])

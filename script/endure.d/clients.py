"""Clients that stay: each opens a connection, makes a request and is idle. Tells how many were answered; at each line of
standard input all ask again, over the same connections. `clients.py ADDRESS COUNT [tls]`."""

import socket
import ssl
import sys

from child import tell
from tls import any_certificate

REQUEST = b"GET / HTTP/1.1\r\nHost: endure\r\n\r\n"


def connection(address: tuple[str, int], context: ssl.SSLContext | None) -> socket.socket:
    plain = socket.create_connection(address, timeout=30)
    return context.wrap_socket(plain) if context else plain


def ask(client: socket.socket) -> bool:
    """Whether a whole answer of the nginx behind the gateway came."""
    client.sendall(REQUEST)
    answer = b""
    while not answer.endswith(b"\r\n\r\nok"):
        piece = client.recv(4096)
        if not piece:
            return False
        answer += piece
    return answer.startswith(b"HTTP/1.1 200 ")


def answered(clients: list[socket.socket]) -> int:
    count = 0
    for client in clients:
        try:
            count += ask(client)
        except OSError:
            pass
    return count


def main() -> None:
    host, port = sys.argv[1].split(":")
    context = None
    if sys.argv[3:] == ["tls"]:
        context = any_certificate()
    clients: list[socket.socket] = []
    count = 0
    for _ in range(int(sys.argv[2])):
        clients.append(connection((host, int(port)), context))
        count += answered(clients[-1:])
    tell(answered=count)
    for _ in sys.stdin:
        tell(answered=answered(clients))


main()

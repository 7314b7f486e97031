"""Opens connections to a proxy, makes one request on each, and keeps them open until its input ends.

idle.py PORT COUNT prints `open=COUNT` once all were answered."""

import socket
import sys


def opened(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(b"GET /1k HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += received(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"port {port}: {head!r}")
    while len(body) < 1024:
        body += received(connection)
    return connection


def received(connection: socket.socket) -> bytes:
    piece = connection.recv(65536)
    if not piece:
        raise SystemExit("a connection was closed in place of an answer")
    return piece


connections = [opened(int(sys.argv[1])) for _ in range(int(sys.argv[2]))]
print(f"open={len(connections)}", flush=True)
sys.stdin.read()

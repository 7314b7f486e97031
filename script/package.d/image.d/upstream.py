"""An upstream on TLS that breaks the rules where it is asked to, and one that speaks HTTP/2."""

import socket
import ssl
import threading
import time

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived
from lab.tls import Pair

SLOW = 2.0


def whole(text: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


class Upstream:
    def __init__(self, pair: Pair) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pair.certificate, pair.key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.connections = 0
        self.asked = threading.Event()
        """A slow request has come."""
        self.notified = self.cut = 0
        """How the client ended connections: with close_notify or without."""
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            plain, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[plain], daemon=True).start()

    def serve(self, plain: socket.socket) -> None:
        try:
            with self.context.wrap_socket(plain, server_side=True, suppress_ragged_eofs=False) as connection:
                self.connections += 1
                while path := self.request(connection):
                    if not self.answer(connection, path):
                        return
        except ssl.SSLEOFError:
            self.cut += 1
        except OSError:
            pass  # a client that does not trust the certificate, or that has gone

    def request(self, connection: ssl.SSLSocket) -> str | None:
        """The path of the next request, which has no body; None at the client's end."""
        head = b""
        while b"\r\n\r\n" not in head:
            part = connection.recv(65536)
            if not part:
                self.notified += 1
                return None
            head += part
        return head.split()[1].decode().rpartition("/")[2]

    def answer(self, connection: ssl.SSLSocket, path: str) -> bool:
        """Returns whether the connection goes on. Each call of `sendall` is one record."""
        match path:
            case "stray":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
                time.sleep(0.1)
                connection.sendall(b"one" + whole("stray"))
            case "cut" | "closed":
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf")
                if path == "closed":
                    connection.unwrap()
                # Else the connection ends without close_notify.
                connection.shutdown(socket.SHUT_RDWR)
                return False
            case "slow":
                self.asked.set()
                time.sleep(SLOW)
                connection.sendall(whole("slow"))
            case "missing":
                connection.sendall(whole("", "404 Not Found"))
            case _:
                connection.sendall(whole("fine"))
        return True


class UpstreamOfTwo(Upstream):
    """Offers HTTP/2 alone, and says so in each body."""

    def __init__(self, pair: Pair) -> None:
        super().__init__(pair)
        self.context.set_alpn_protocols(["h2"])

    def serve(self, plain: socket.socket) -> None:
        try:
            with self.context.wrap_socket(plain, server_side=True) as connection:
                two = H2Connection(H2Configuration(client_side=False))
                two.initiate_connection()
                connection.sendall(two.data_to_send())
                while data := connection.recv(65536):
                    for event in two.receive_data(data):
                        if isinstance(event, RequestReceived):
                            two.send_headers(event.stream_id, [(":status", "200"), ("content-length", "2")])
                            two.send_data(event.stream_id, b"h2", end_stream=True)
                    connection.sendall(two.data_to_send())
        except OSError:
            pass

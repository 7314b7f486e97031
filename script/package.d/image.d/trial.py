"""Tries weir's image as it is shipped. Called by script/package.d/image.

    trial.py ARCHIVE BYTES

The program runs in a container, or where the machine lets none run, in the image's unpacked root. Peers are on the
loopback: upstreams on TLS, and dnsmasq, which knows their name. BYTES is the most that the image may have,
unpacked.
"""

import asyncio
import http.client
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time
from pathlib import Path

from containers import Podman, Root, as_root, containers
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived
from lab import command
from lab.processes import Failure, Place, Process, free_address, output
from lab.tls import Pair
from layout import Image

NAME_SERVER = "127.53.53.53"
SLOW = 2.0
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
CONFIGURATION = """upstreams:
  - name: pool
    scheme: https
    endpoints: ["upstream.test:{port}"]
    tls: {{ ca: /ca.pem }}
  - name: two
    scheme: https
    endpoints: ["upstream.test:{port_of_two}"]
    httpVersion: 2
    tls: {{ ca: /ca.pem }}
routes:
  - {{ name: two, match: {{ path: /two }}, upstream: two }}
  - {{ name: pool, match: {{ pathPrefix: /pool }}, upstream: pool }}
  - {{ name: strangers, match: {{ pathPrefix: /strangers }}, upstream: "https://upstream.test:{port}" }}
  - {{ name: all, upstream: {{ url: "https://upstream.test:{port}", tls: {{ ca: /ca.pem }} }} }}
"""


def expect(what: str, expected: object, found: object) -> None:
    if found != expected:
        raise Failure(f"{what}: expected {expected!r}, not {found!r}")
    print(f"{what}: {found}", flush=True)


def whole(text: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


class Upstream:
    """An upstream on TLS that breaks the rules where it is asked to."""

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


class Trial:
    def __init__(self, image: Image, place: Place) -> None:
        self.image = image
        self.place = place
        self.pair = Pair(place.directory, host="upstream.test")
        self.mounts: dict[str, Path] = {}
        self.containers: Podman | Root
        self.weir: Process

    async def run(self, archive: Path, most: int) -> None:
        self.containers = await containers(self.place.directory, archive, self.image)
        print(f"==> {self.image.name} in {self.containers.kind}", flush=True)
        await self.look(most)
        await self.start_peers()
        await self.demonstration()
        await self.start()
        await self.names()
        await self.trust()
        await self.stray_bytes()
        await self.cut_bodies()
        await self.second_version()
        await self.health()
        await self.drain()

    async def look(self, most: int) -> None:
        expect("problems of the image", [], self.image.problems())
        program = self.place.directory / "weir"
        with self.image.root() as root:
            program.write_bytes(root.extractfile("usr/bin/weir").read())
        program.chmod(0o755)
        _, text = await output("ldd", program)
        expect("ldd", "not a dynamic executable", text.strip())
        expect(f"{self.image.size} bytes are at most {most}", True, self.image.size <= most)
        status, text = await self.once("--version")
        expect("status of --version", 0, status)
        print(text.strip(), flush=True)

    async def start_peers(self) -> None:
        await self.pair.make()
        self.upstream, two = Upstream(self.pair), UpstreamOfTwo(self.pair)
        rules = [f"--listen-address={NAME_SERVER}", "--address=/upstream.test/127.0.0.1", "--local=/test/"]
        options = ["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces"]
        self.dnsmasq = await self.place.start(
            "dnsmasq", *as_root("dnsmasq", *options, f"--pid-file={self.place.directory}/dnsmasq.pid", *rules)
        )
        # Port 53 is the only one that resolv.conf can mean.
        self.write("/etc/resolv.conf", f"nameserver {NAME_SERVER}\n")
        self.write("/etc/weir/weir.yml", CONFIGURATION.format(port=self.upstream.port, port_of_two=two.port))
        self.write("/ca.pem", self.pair.certificate.read_text())

    def write(self, path: str, text: str) -> None:
        file = self.place.file(Path(path).name, text)
        file.chmod(0o644)
        self.mounts[path] = file

    async def once(self, *arguments: str) -> tuple[int, str]:
        return await output(*self.containers.command("once", self.mounts, *arguments))

    async def demonstration(self) -> None:
        """The file in the image; by podman also the image's own arguments, on a network of its own, and the health check."""
        mounts, self.mounts = self.mounts, {}
        status, text = await self.once("check", "/etc/weir/weir.yml")
        self.mounts = mounts
        expect("check of the image's file", (0, True), (status, "no problems" in text))
        if not isinstance(self.containers, Podman):
            return
        name = "demonstration"
        weir = await self.place.start(name, *self.containers.command(name, {}, network="none"))
        ask = ["probe", "--fail", "http://127.0.0.1:9464/-/healthy"]
        for _ in range(100):
            weir.check()
            if await self.containers.inside(name, *ask) == 0:
                break
            await asyncio.sleep(0.2)
        expect("health check of the image as it is", 0, await self.containers.inside(name, *ask))
        ask[-1] = "http://127.0.0.1:8080/-/healthy"
        expect("a request that it forwards", 0, await self.containers.inside(name, *ask))
        weir.process.terminate()
        expect("its exit status", 0, await asyncio.wait_for(weir.process.wait(), 20))

    async def start(self) -> None:
        self.gateway, self.metrics = free_address(), free_address()
        flags = [f"--gateway.listen-address={self.gateway}", f"--web.listen-address={self.metrics}"]
        # With more, the next request may take another's connection.
        flags.append("--gateway.workers=1")
        command = self.containers.command("weir", self.mounts, "serve", "--config.file=/etc/weir/weir.yml", *flags)
        self.weir = await self.place.start("weir", *command)
        await self.weir.accepts(self.gateway)

    async def ask(self, path: str) -> tuple[int, str]:
        """The status and the body; a body that breaks off ends with `…`."""

        def ask() -> tuple[int, str]:
            connection = http.client.HTTPConnection(self.gateway, timeout=20)
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                try:
                    return response.status, response.read().decode()
                except http.client.IncompleteRead as error:
                    return response.status, error.partial.decode() + "…"
            finally:
                connection.close()

        return await asyncio.to_thread(ask)

    async def names(self) -> None:
        expect("a name that libcurl looks up", (200, "fine"), await self.ask("/fine"))
        expect("a name that c-ares looks up", (200, "fine"), await self.ask("/pool/fine"))
        url = f"https://absent.test:{self.upstream.port}/"
        status, text = await self.once("probe", url)
        expect("a name that is not there", (1, True), (status, "resolve" in text.lower()))

    async def trust(self) -> None:
        """An authority counts where the configuration names it, or in the image's file of authorities."""
        status, _ = await self.ask("/strangers/fine")
        expect("status for an upstream without trust", 502, status)
        url = f"https://upstream.test:{self.upstream.port}/fine"
        expect("a probe with the image's authorities", 1, (await self.once("probe", url))[0])
        self.mounts[CERTIFICATES] = self.mounts["/ca.pem"]
        expect("a probe with another's", 0, (await self.once("probe", url))[0])
        del self.mounts[CERTIFICATES]

    async def stray_bytes(self) -> None:
        """A second response in the record that ends the first one stays in OpenSSL, where only OpenSSL can be asked for
        it. The connection is given up, and with it the stray response."""
        before = self.upstream.connections
        expect("the response before stray bytes", (200, "one"), await self.ask("/stray"))
        expect("the response behind them", (200, "fine"), await self.ask("/fine"))
        expect("connections opened for that", 1, self.upstream.connections - before)

    async def second_version(self) -> None:
        expect("an upstream on HTTP/2", (200, "h2"), await self.ask("/two"))

    async def cut_bodies(self) -> None:
        expect("a body to the end", (200, "half"), await self.ask("/closed"))
        status, body = await self.ask("/cut")
        expect("a cut body is no whole one", True, status == 502 or body == "half…")

    async def health(self) -> None:
        probes = {f"http://{self.metrics}/-/healthy": 0, f"http://{self.gateway}/missing": 1}
        for url, expected in probes.items():
            expect(f"probe --fail {url}", expected, (await self.once("probe", "--fail", url))[0])

    async def drain(self) -> None:
        """A request under way is answered. Idle connections end with close_notify, which only OpenSSL can write."""
        slow = asyncio.create_task(self.ask("/slow"))
        await asyncio.to_thread(self.upstream.asked.wait, 10)
        self.weir.process.send_signal(signal.SIGTERM)
        expect("a request under way at SIGTERM", (200, "slow"), await slow)
        expect("exit status", 0, await asyncio.wait_for(self.weir.process.wait(), 20 + SLOW))
        await asyncio.sleep(0.5)
        expect("connections that ended without close_notify", 0, self.upstream.cut)
        expect("some ended with it", True, self.upstream.notified > 0)

    async def finish(self) -> None:
        """Ends the name server, which may be another user's, and the containers."""
        file = self.place.directory / "dnsmasq.pid"
        try:
            if file.exists():
                await output(*as_root("kill", file.read_text().strip()))
                if hasattr(self, "dnsmasq"):
                    await asyncio.wait_for(self.dnsmasq.process.wait(), timeout=10)
        finally:
            try:
                await self.place.stop()
            finally:
                if isinstance(found := getattr(self, "containers", None), Podman):
                    await found.finish()


async def main(archive: Path, most: int) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="weir-image-") as made:
        directory = Path(made)
        directory.chmod(0o755)
        trial = Trial(Image(archive), Place("/usr/bin/weir", directory))
        try:
            await trial.run(archive, most)
        finally:
            await trial.finish()
    print("==> the image works")
    return []


if __name__ == "__main__":
    sys.exit(asyncio.run(command.judge("package image", main(Path(sys.argv[1]), int(sys.argv[2])))))

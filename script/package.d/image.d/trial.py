"""Tries weir's image as it is shipped. Called by script/package.d/image.

    trial.py ARCHIVE BYTES

The program runs in a container, or where the machine lets none run, in the image's unpacked root. Peers are on the
loopback: upstreams on TLS (upstream.py), and dnsmasq, which knows their name. BYTES is the most that the image may have,
unpacked.
"""

import asyncio
import http.client
import signal
import sys
import tempfile
from pathlib import Path

from containers import Containers, Podman, as_root, containers, output
from lab.processes import Failure, Process, Processes, free_port
from lab.tls import Pair
from layout import Image
from upstream import SLOW, Upstream, UpstreamOfTwo

NAME_SERVER = "127.53.53.53"
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


class Trial:
    def __init__(self, image: Image, directory: Path, processes: Processes) -> None:
        self.image = image
        self.directory = directory
        self.processes = processes
        self.pair = Pair(directory, host="upstream.test")
        self.mounts: dict[str, Path] = {}
        self.containers: Containers
        self.weir: Process

    async def run(self, archive: Path, most: int) -> None:
        self.containers = await containers(self.directory, archive, self.image)
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
        program = self.directory / "weir"
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
        self.dnsmasq = await self.processes.start(
            "dnsmasq", *as_root("dnsmasq", *options, f"--pid-file={self.directory}/dnsmasq.pid", *rules)
        )
        # Port 53 is the only one that resolv.conf can mean.
        self.write("/etc/resolv.conf", f"nameserver {NAME_SERVER}\n")
        self.write("/etc/weir/weir.yml", CONFIGURATION.format(port=self.upstream.port, port_of_two=two.port))
        self.write("/ca.pem", self.pair.certificate.read_text())

    def write(self, path: str, text: str) -> None:
        file = self.directory / Path(path).name
        file.write_text(text)
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
        weir = await self.processes.start(name, *self.containers.command(name, {}, network="none"))
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
        self.gateway, self.metrics = (f"127.0.0.1:{free_port()}" for _ in range(2))
        flags = [f"--gateway.listen-address={self.gateway}", f"--web.listen-address={self.metrics}"]
        # With more, the next request may take another's connection.
        flags.append("--gateway.workers=1")
        command = self.containers.command("weir", self.mounts, "serve", "--config.file=/etc/weir/weir.yml", *flags)
        self.weir = await self.processes.start("weir", *command)
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
        file = self.directory / "dnsmasq.pid"
        try:
            if file.exists():
                await output(*as_root("kill", file.read_text().strip()))
                if hasattr(self, "dnsmasq"):
                    await asyncio.wait_for(self.dnsmasq.process.wait(), timeout=10)
        finally:
            try:
                await self.processes.stop()
            finally:
                if hasattr(self, "containers"):
                    await self.containers.finish()


async def main(archive: Path, most: int) -> None:
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with tempfile.TemporaryDirectory(prefix="weir-image-") as made:
        directory = Path(made)
        directory.chmod(0o755)
        trial = Trial(Image(archive), directory, Processes(directory))
        try:
            await trial.run(archive, most)
        finally:
            await trial.finish()
    print("==> the image works")


if __name__ == "__main__":
    try:
        asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
    except Failure as failure:
        sys.exit(f"package image: {failure}")
    except asyncio.CancelledError:
        sys.exit("package image: interrupted")

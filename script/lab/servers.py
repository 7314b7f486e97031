"""The servers behind the gateway, and its name server."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

from lab.processes import Place, Process, free_port

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


async def nginx(
    place: Place, ports: Sequence[int], name: str = "nginx", listening: str = "", body: str = "ok"
) -> Process:
    """Listens on these ports of all loopback addresses. A response shows the address and the port that it comes from.
    Those under /files/ are the files of the row's directory `files`. Requests under /logged stand in the file
    `nginx.access`: when they ended, and at which address. `listening` are further parameters of its sockets."""
    listens = "\n".join(f"    listen 0.0.0.0:{port} backlog=4096 {listening};" for port in ports)
    http = f"""  log_format short '$msec $server_addr';
  keepalive_requests 100000000;
  server {{
{listens}
    add_header X-Server $server_addr:$server_port always;
    location / {{ return 200 "{body}"; }}
    location /files/ {{ alias {place.directory}/files/; }}
    location /logged {{ access_log {place.directory}/{name}.access short buffer=64k flush=1s; return 200 "{body}"; }}
  }}
"""
    process = await start_nginx(place, name, http)
    await process.accepts(f"127.0.0.1:{ports[0]}")
    return process


async def start_nginx(place: Place, name: str, http: str) -> Process:
    """Starts an nginx of one process with the lines of an `http` block."""
    temporary = "\n".join(f"  {kind}_temp_path {place.directory}/{kind};" for kind in TEMPORARY)
    config = f"""daemon off;
master_process off;
pid {place.directory}/{name}.pid;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
  access_log off;
{temporary}
{http}}}
"""
    file = place.file(f"{name}.conf", config)
    return await place.start(name, "nginx", "-e", "stderr", "-p", place.directory, "-c", file)


class Names:
    """dnsmasq, which answers for the domain `test` alone."""

    def __init__(self, place: Place, *lines: str) -> None:
        self.place = place
        self.lines = lines
        self.port = free_port()
        self.hosts = place.file("hosts", "")
        self.process: Process | None = None

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        self.process = await self.place.start(
            "dnsmasq",
            "dnsmasq",
            *("--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--pid-file=", "--user="),
            *("--listen-address=127.0.0.1", "--bind-interfaces", f"--port={self.port}", "--local=/test/"),
            *("--local-ttl=1", f"--addn-hosts={self.hosts}"),
            *self.lines,
        )
        await self.process.accepts(self.server)

    def say(self, name: str, address: str) -> None:
        """Gives a name another address."""
        write_anew(self.hosts, f"{address} {name}\n")
        if self.process:
            self.process.process.send_signal(signal.SIGHUP)

    async def stop(self) -> None:
        assert self.process
        await self.process.end()


def write_anew(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(text)
    temporary.rename(path)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends back what comes, until the other side ends."""
    try:
        while octets := await reader.read(4096):
            writer.write(octets)
    except ConnectionError:
        pass  # the gateway has closed the tunnel
    finally:
        writer.close()

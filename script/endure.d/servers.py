"""The servers behind the gateway, and its name server."""

import signal
from collections.abc import Sequence
from pathlib import Path

from processes import Process, free_port
from row import Place


async def nginx(place: Place, ports: Sequence[int], name: str = "nginx", listening: str = "") -> Process:
    """Listens on these ports of all loopback addresses. A response shows the address and the port that it comes from.
    Those under /files/ are the files of the row's directory `files`. Requests under /logged stand in the file
    `nginx.access`: when they ended, and at which address. `listening` are further parameters of its sockets."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"  {kind}_temp_path {place.directory}/{kind};" for kind in kinds)
    listens = "\n".join(f"    listen 0.0.0.0:{port} backlog=4096 {listening};" for port in ports)
    config = f"""daemon off;
master_process off;
pid {place.directory}/{name}.pid;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  log_format short '$msec $server_addr';
  keepalive_requests 100000000;
{temporary}
  server {{
{listens}
    add_header X-Server $server_addr:$server_port always;
    location / {{ return 200 "ok"; }}
    location /files/ {{ alias {place.directory}/files/; }}
    location /logged {{ access_log {place.directory}/{name}.access short buffer=64k flush=1s; return 200 "ok"; }}
  }}
}}
"""
    file = place.file(f"{name}.conf", config)
    process = await place.processes.start(name, "nginx", "-e", "stderr", "-p", place.directory, "-c", file)
    await process.accepts(f"127.0.0.1:{ports[0]}")
    return process


class Names:
    """dnsmasq, which answers for the domain `test` alone."""

    def __init__(self, place: Place, *lines: str) -> None:
        self.place = place
        self.lines = lines
        self.port = free_port()
        self.hosts = place.directory / "hosts"
        self.hosts.write_text("")
        self.process: Process | None = None

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        self.process = await self.place.processes.start(
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
        self.process.process.terminate()
        await self.process.process.wait()


def write_anew(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(text)
    temporary.rename(path)

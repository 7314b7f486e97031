"""weir as a service whose sockets outlive it. systemd does not run in a root directory, so that its part is played here."""

import asyncio
import os
import signal
from pathlib import Path

from lab.client import Connection
from lab.processes import Failure, Place, Process, free_port
from root import Root

# systemd-socket-activate becomes the program once a connection is there, and its sockets would end with it. So it
# becomes this holder, which starts weir anew whenever weir ends with 0, as systemd does for a restart. LISTEN_PID has
# to be weir's own: the inner shell becomes chroot, that setpriv, and that weir.
HOLDER = 'while sh -c \'echo $$ >"$0"; LISTEN_PID=$$ exec "$@"\' "$@"; do :; done'
# The rights that weir.service gives.
RIGHTS = ("--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--pdeathsig=KILL")
SERVING = 'msg="serving metrics"'


class Service:
    def __init__(self, root: Root, address: str, process: Process, number: Path) -> None:
        self.root = root
        self.address = address
        self.process = process
        self.number = number

    @staticmethod
    async def start(place: Place, root: Root) -> "Service":
        gateway, metrics = (f"127.0.0.1:{free_port()}" for _ in range(2))
        number = place.directory / "weir.pid"
        number.unlink(missing_ok=True)
        weir = ("chroot", root.path, "setpriv", *RIGHTS, "/usr/bin/weir", "serve", "--config.file=/etc/weir/weir.yml")
        activate = ("systemd-socket-activate", f"--listen={gateway}", f"--listen={metrics}", "--fdname=gateway:metrics")
        process = await place.start("service", *activate, "sh", "-c", HOLDER, "sh", number, *weir)
        await process.accepts(gateway)
        service = Service(root, gateway, process, number)
        await service.serves(1)
        return service

    async def serves(self, times: int) -> None:
        """Returns once weir has been started so often, and answers."""
        for _ in range(600):
            self.process.check()
            if self.process.log.read_text().count(SERVING) >= times:
                break
            await asyncio.sleep(0.1)
        else:
            raise Failure(f"weir was not started: {self.process.tail()}")
        connection = Connection(self.address)
        answer = await asyncio.wait_for(connection.ask(), 20)
        connection.close()
        if answer.status != 200:
            raise Failure(f"weir answers {answer.status}: {self.process.tail()}")

    def pid(self) -> int:
        return int(self.number.read_text())

    def runs_installed_program(self) -> bool:
        return os.path.samestat(os.stat(f"/proc/{self.pid()}/exe"), (self.root.path / "usr/bin/weir").stat())

    async def restart(self) -> None:
        times = self.process.log.read_text().count(SERVING)
        os.kill(self.pid(), signal.SIGTERM)
        await self.serves(times + 1)

"""Tries the Debian package in a clean root: it is installed, upgraded under load, downgraded, removed and purged. Called by
script/package.d/deb, as root and in a mount namespace of its own."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from lab import command
from lab.client import Connection
from lab.load import Wrk
from lab.processes import Failure, Place, Process, free_address, free_port
from lab.servers import nginx

CONFIGURATION = "etc/weir/weir.yml"
UNITS = ("sockets.target.wants/weir.socket", "sockets.target.wants/weir-metrics.socket", "multi-user.target.wants/weir.service")
# Files of dpkg, apt and man about all packages, and the kernel's.
SHARED = ("proc", "var/cache", "var/log", "var/lib/apt", "var/lib/dpkg")
# systemd-socket-activate becomes the program once a connection is there, and its sockets would end with it. So it
# becomes this holder, which starts weir anew whenever weir ends with 0, as systemd does for a restart. LISTEN_PID has
# to be weir's own: the inner shell becomes chroot, that setpriv, and that weir.
HOLDER = 'while sh -c \'echo $$ >"$0"; LISTEN_PID=$$ exec "$@"\' "$@"; do :; done'
# The rights that weir.service gives.
RIGHTS = ("--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--pdeathsig=KILL")
SERVING = 'msg="serving metrics"'


def say(text: str) -> None:
    print(f"    {text}", flush=True)


def expect(is_so: bool, text: str) -> None:
    if not is_so:
        raise Failure(text)


def field(package: Path, name: str) -> str:
    return outside("dpkg-deb", "--field", str(package), name).strip()


def outside(*words: str | Path) -> str:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise Failure(f"{' '.join(map(str, words))}: status {done.returncode}: {said}")
    return done.stdout


class Root:
    """A clean root directory, in which packages are installed and run. Needs a mount namespace of its own: nothing is unmounted."""

    def __init__(self, path: Path, base: Path) -> None:
        self.path = path
        path.mkdir()
        outside("tar", "--extract", "--numeric-owner", "-p", f"--file={base}", f"--directory={path}")
        outside("mount", "-t", "proc", "proc", path / "proc")
        # Packages that were fetched once stay beside the base.
        archives = base.parent / "archives"
        (archives / "partial").mkdir(parents=True, exist_ok=True)
        outside("mount", "--bind", archives, path / "var/cache/apt/archives")
        for name in ("hosts", "resolv.conf"):
            shutil.copyfile(f"/etc/{name}", path / "etc" / name)
        (path / "etc/apt/apt.conf.d/weir").write_text('Acquire::Retries "3";\nAPT::Sandbox::User "root";\n')

    def run(self, *command: str) -> str:
        return outside("chroot", self.path, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *command)

    def install(self, package: Path) -> None:
        """As an unattended upgrade does it: an edited file of the configuration stays."""
        copy = self.path / "root" / package.name
        shutil.copyfile(package, copy)
        options = ("--force-confdef", "--force-confold")
        flags = ("-y", "--no-install-recommends", "--allow-downgrades", *(f"-oDpkg::Options::={option}" for option in options))
        self.run("apt-get", "-q", *flags, "install", f"/root/{package.name}")
        copy.unlink()

    def files(self) -> set[str]:
        """The paths of all files and directories but shared ones."""
        found: set[str] = set()
        for directory, names, files in os.walk(self.path):
            place = Path(directory).relative_to(self.path)
            names[:] = [name for name in names if str(place / name) not in SHARED]
            found.update(str(place / name) for name in (*names, *files))
        return found


class Service:
    """weir as a service whose sockets outlive it. systemd does not run in a root directory, so that its part is played here."""

    def __init__(self, root: Root, address: str, process: Process, number: Path) -> None:
        self.root = root
        self.address = address
        self.process = process
        self.number = number

    @staticmethod
    async def start(place: Place, root: Root) -> "Service":
        gateway, metrics = free_address(), free_address()
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
        await self.process.until(lambda: self.starts() >= times, "has not started weir", seconds=60)
        connection = Connection(self.address)
        answer = await asyncio.wait_for(connection.ask(), 20)
        connection.close()
        if answer.status != 200:
            raise Failure(f"weir answers {answer.status}: {self.process.tail()}")

    def starts(self) -> int:
        return self.process.log.read_text().count(SERVING)

    def pid(self) -> int:
        return int(self.number.read_text())

    def runs_installed_program(self) -> bool:
        return os.path.samestat(os.stat(f"/proc/{self.pid()}/exe"), (self.root.path / "usr/bin/weir").stat())

    async def restart(self) -> None:
        times = self.starts()
        os.kill(self.pid(), signal.SIGTERM)
        await self.serves(times + 1)


class Trial:
    def __init__(self, root: Root, place: Place, older: Path, newer: Path) -> None:
        self.root = root
        self.place = place
        self.older = older
        self.newer = newer
        self.text = root.path / CONFIGURATION

    async def run(self) -> None:
        # Installed before the package, so that `before` has them.
        depends = ", ".join(field(self.newer, name) for name in ("Pre-Depends", "Depends") if field(self.newer, name))
        self.root.run("apt-get", "-q", "-y", "--no-install-recommends", "satisfy", depends)
        before = self.root.files()
        self.install()
        self.run_installed()
        self.replace_untouched()
        self.purge(before)
        self.install()
        await self.upgrade_under_load()
        self.downgrade()
        self.remove()
        self.purge(before)

    def put(self, package: Path) -> None:
        self.root.install(package)
        found = self.root.run("dpkg-query", "-W", "-f", "${Version}", "weir")
        expect(found == field(package, "Version"), f"{package.name} was to be installed, and {found} is")

    def install(self) -> None:
        self.put(self.older)
        for unit in UNITS:
            expect((self.root.path / "etc/systemd/system" / unit).is_symlink(), f"{unit} is not enabled")
        say(f"installed {self.older.name}, in a root that has no more than its Depends; its units are enabled")

    def run_installed(self) -> None:
        said = self.root.run("weir", "--version").splitlines()[0]
        self.root.run("weir", "check", f"/{CONFIGURATION}")
        for page in ("weir", "weir.yml"):
            self.root.run("man", "--where", page)
        self.root.run("bash", "-c", ". /usr/share/bash-completion/completions/weir && complete -p weir")
        say(f"{said!r}; its configuration has no problems, its pages are found, its completion is loaded")

    def replace_untouched(self) -> None:
        old = self.text.read_text()
        self.put(self.newer)
        expect(self.text.read_text() != old, "the upgrade did not replace a configuration that nobody has edited")
        say("an upgrade replaces a configuration that was not edited")

    async def upgrade_under_load(self) -> None:
        """The route under load leads to an nginx, which counts its requests too."""
        upstream = free_port()
        origin = await nginx(self.place, [upstream])
        route = f"  - name: edited\n    match: {{ pathPrefix: /logged }}\n    upstream: http://127.0.0.1:{upstream}\n"
        self.edited = self.text.read_text() + route
        self.text.write_text(self.edited)
        service = await Service.start(self.place, self.root)
        wrk = await Wrk(self.place, f"http://{service.address}/logged", 600).begin()
        await asyncio.sleep(2)
        await asyncio.to_thread(self.put, self.newer)
        expect(not service.runs_installed_program(), "the upgrade was to bring another file as the program")
        began = time.monotonic()
        await service.restart()
        took = time.monotonic() - began
        expect(service.runs_installed_program(), "the restart did not start the new program")
        await asyncio.sleep(2)
        await service.restart()
        await asyncio.sleep(2)
        wrk.process.check()
        loaded = await wrk.stop()
        await origin.end()
        await service.process.end()
        counted = len((self.place.directory / "nginx.access").read_text().splitlines())
        expect(loaded.failed == 0, f"{loaded.failed} of {loaded.requests} requests failed: {loaded.output}")
        expect(counted >= loaded.requests > 0, f"{loaded.requests} responses came, and the origin gave {counted}")
        expect(self.text.read_text() == self.edited, "the upgrade has changed an edited configuration")
        say(f"upgraded under load: 0 of {loaded.requests} requests failed over two restarts; the first took {took:.1f} s")
        say("the edited configuration was left as it is")

    def downgrade(self) -> None:
        self.put(self.older)
        expect(self.text.read_text() == self.edited, "the downgrade has changed an edited configuration")
        say("downgraded: the configuration is still the edited one")

    def remove(self) -> None:
        self.root.run("apt-get", "-q", "-y", "remove", "weir")
        expect(self.text.read_text() == self.edited, "the removal has changed the configuration")
        expect(not (self.root.path / "usr/bin/weir").exists(), "the removal has left the program")
        say("removed: the configuration alone is left")

    def purge(self, before: set[str]) -> None:
        logs = self.put_logs()
        self.root.run("apt-get", "-q", "-y", "purge", "weir")
        left = sorted(self.root.files() - before) + [str(path) for path in logs if path.exists() or path.is_symlink()]
        lost = sorted(before - self.root.files())
        expect(not left and not lost, f"the purge has left {left} and has taken {lost}")
        expect((self.root.path / "var/log/private/other").exists(), "the purge has taken the logs of others")
        say("purged: no file is left, and no log")

    def put_logs(self) -> tuple[Path, Path]:
        """As systemd makes them for a service with a DynamicUser."""
        link, directory = self.root.path / "var/log/weir", self.root.path / "var/log/private/weir"
        for name in ("weir", "other"):
            (directory.parent / name).mkdir(parents=True, exist_ok=True)
        (directory / "access.log").write_text("a line\n")
        link.symlink_to("private/weir")
        return directory, link


async def main(base: Path, path: Path, directory: Path, older: Path, newer: Path) -> list[str]:
    root = Root(path, base)
    root.run("apt-get", "-q", "update")
    place = Place("/usr/bin/weir", directory)
    try:
        await Trial(root, place, older, newer).run()
    finally:
        await place.stop()
    return []


if __name__ == "__main__":
    sys.exit(asyncio.run(command.judge("package", main(*(Path(argument).absolute() for argument in sys.argv[1:])))))

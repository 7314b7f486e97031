"""Tries the Debian package in a clean root: it is installed, upgraded under load, downgraded, removed and purged. Called by
script/package.d/deb, as root and in a mount namespace of its own."""

import asyncio
import sys
import time
from pathlib import Path

from lab.load import Wrk
from lab.processes import Failure, Place, free_port
from lab.servers import nginx
from restarts import Service
from root import Root

CONFIGURATION = "etc/weir/weir.yml"
UNITS = ("sockets.target.wants/weir.socket", "sockets.target.wants/weir-metrics.socket", "multi-user.target.wants/weir.service")


def say(text: str) -> None:
    print(f"    {text}", flush=True)


def expect(is_so: bool, text: str) -> None:
    if not is_so:
        raise Failure(text)


def field(package: Path, name: str) -> str:
    return Root.outside("dpkg-deb", "--field", str(package), name).strip()


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
        found = self.root.version("weir")
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
        await self.end(origin.process, service.process.process)
        counted = len((self.place.directory / "nginx.access").read_text().splitlines())
        expect(loaded.failed == 0, f"{loaded.failed} of {loaded.requests} requests failed: {loaded.output}")
        expect(counted >= loaded.requests > 0, f"{loaded.requests} responses came, and the origin gave {counted}")
        expect(self.text.read_text() == self.edited, "the upgrade has changed an edited configuration")
        say(f"upgraded under load: 0 of {loaded.requests} requests failed over two restarts; the first took {took:.1f} s")
        say("the edited configuration was left as it is")

    @staticmethod
    async def end(*processes: asyncio.subprocess.Process) -> None:
        for process in processes:
            process.terminate()
            await process.wait()

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


async def main(base: Path, path: Path, directory: Path, older: Path, newer: Path) -> None:
    root = Root(path, base)
    root.run("apt-get", "-q", "update")
    place = Place("/usr/bin/weir", directory)
    try:
        await Trial(root, place, older, newer).run()
    finally:
        await place.stop()


if __name__ == "__main__":
    try:
        asyncio.run(main(*(Path(argument).absolute() for argument in sys.argv[1:])))
    except (Failure, OSError) as failure:
        sys.exit(f"package: {failure}")

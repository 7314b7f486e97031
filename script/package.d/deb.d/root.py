"""A clean root directory, in which packages are installed and run."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lab.processes import Failure

# Files of dpkg, apt and man about all packages, and the kernel's.
SHARED = ("proc", "var/cache", "var/log", "var/lib/apt", "var/lib/dpkg")


class Root:
    """Needs a mount namespace of its own: nothing is unmounted."""

    def __init__(self, path: Path, base: Path) -> None:
        self.path = path
        path.mkdir()
        self.outside("tar", "--extract", "--numeric-owner", "-p", f"--file={base}", f"--directory={path}")
        self.outside("mount", "-t", "proc", "proc", path / "proc")
        # Packages that were fetched once stay beside the base.
        archives = base.parent / "archives"
        (archives / "partial").mkdir(parents=True, exist_ok=True)
        self.outside("mount", "--bind", archives, path / "var/cache/apt/archives")
        for name in ("hosts", "resolv.conf"):
            shutil.copyfile(f"/etc/{name}", path / "etc" / name)
        (path / "etc/apt/apt.conf.d/weir").write_text('Acquire::Retries "3";\nAPT::Sandbox::User "root";\n')

    def run(self, *command: str) -> str:
        return self.outside("chroot", self.path, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *command)

    def install(self, package: Path) -> None:
        """As an unattended upgrade does it: an edited file of the configuration stays."""
        copy = self.path / "root" / package.name
        shutil.copyfile(package, copy)
        options = ("--force-confdef", "--force-confold")
        flags = ("-y", "--no-install-recommends", "--allow-downgrades", *(f"-oDpkg::Options::={option}" for option in options))
        self.run("apt-get", "-q", *flags, "install", f"/root/{package.name}")
        copy.unlink()

    def version(self, package: str) -> str:
        return self.run("dpkg-query", "-W", "-f", "${Version}", package)

    def files(self) -> set[str]:
        """The paths of all files and directories but shared ones."""
        return set(self.walk())

    def walk(self) -> Iterator[str]:
        for directory, names, files in os.walk(self.path):
            place = Path(directory).relative_to(self.path)
            names[:] = [name for name in names if str(place / name) not in SHARED]
            yield from (str(place / name) for name in (*names, *files))

    @staticmethod
    def outside(*command: str | Path) -> str:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            said = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
            raise Failure(f"{' '.join(map(str, command))}: status {done.returncode}: {said}")
        return done.stdout

"""Runs the program in its image, as a container runtime does it."""

import os
from pathlib import Path

from lab.processes import Failure, output
from layout import Image


def as_root(*command: object) -> list[str]:
    return [*([] if os.getuid() == 0 else ["sudo", "-n"]), *map(str, command)]


class Podman:
    """Containers on the machine's network, with a root that can't be written, no temporary directory and no rights."""

    kind = "podman"

    def __init__(self, directory: Path, name: str) -> None:
        self.places = [directory / "store", directory / "run"]
        store = [f"--root={self.places[0]}", f"--runroot={self.places[1]}", "--storage-driver=vfs"]
        self.program = ["podman", *store, "--cgroup-manager=cgroupfs", "--runtime=runc", "--log-level=error"]
        self.image = f"localhost/{name}"
        self.names: list[str] = []

    async def load(self, archive: Path) -> None:
        status, text = await output(*self.program, "load", "--input", archive)
        if status:
            raise Failure(f"podman can't load {archive}: {text}")

    def command(self, name: str, mounts: dict[str, Path], *arguments: str, network: str = "host") -> list[str]:
        """The process that runs the program, and ends as it ends. `mounts` are files by their paths in the container."""
        self.names.append(name)
        return [
            *self.program,
            *("run", "--rm", f"--name={name}", f"--network={network}", "--cap-drop=all", "--security-opt=no-new-privileges"),
            *("--read-only", "--read-only-tmpfs=false"),
            # Podman's own limits are above those that some machines allow.
            *("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"),
            *(f"--volume={file}:{path}:ro" for path, file in mounts.items()),
            *(self.image, *arguments),
        ]

    async def inside(self, name: str, *arguments: str) -> int:
        """The exit status of the program in a container that runs."""
        return (await output(*self.program, "exec", name, "/usr/bin/weir", *arguments))[0]

    async def finish(self) -> None:
        """Ends what may be left."""
        for name in self.names:
            await output(*self.program, "rm", "--force", "--ignore", "--time=0", name)
        # Where root has not started it, some files belong to other users.
        if os.getuid() != 0:
            await output("podman", "unshare", "rm", "-rf", *self.places)


class Root:
    """In place of containers. Nothing is left of it once its processes have ended."""

    kind = "a root directory of its own"

    # The arguments are the root, pairs of a file and its path, --, and those of the program.
    ENTER = """
        root=$1
        shift
        mount --bind "$root" "$root"
        mount --rbind /proc "$root/proc"
        while [ "$1" != -- ]; do
          mount --bind "$1" "$root$2"
          shift 2
        done
        shift
        mount -o remount,bind,ro "$root"
        exec chroot --userspec=65532:65532 --groups=65532 "$root" /usr/bin/weir "$@"
    """

    def __init__(self, directory: Path, image: Image) -> None:
        self.directory = directory / "root"
        with image.root() as root:
            root.extractall(self.directory)
        (self.directory / "proc").mkdir()
        self.directory.chmod(0o755)
        self.standard = image.configuration["config"]["Cmd"]

    def command(self, name: str, mounts: dict[str, Path], *arguments: str) -> list[str]:
        for path in mounts:
            (self.directory / path.lstrip("/")).touch()
        pairs = [word for path, file in mounts.items() for word in (str(file), path)]
        entered = [self.directory, *pairs, "--", *(arguments or self.standard)]
        return ["unshare", "--mount", "sh", "-euc", self.ENTER, "sh", *map(str, entered)]


async def containers(directory: Path, archive: Path, image: Image) -> Podman | Root:
    """Podman's, where it works."""
    podman = Podman(directory, image.name)
    await podman.load(archive)
    status, text = await output(*podman.command("first", {}, "--version"))
    if status == 0:
        return podman
    await podman.finish()
    if os.getuid() != 0:
        raise Failure(f"podman runs no container here; only root can try the image without it: {text}")
    print(f"==> WARNING: podman runs no container here, a root directory takes its place: {text.strip()}", flush=True)
    return Root(directory, image)

"""A network of the laboratory's own, in which every address is this machine's, and every name that it needs has one.

So the gateway is asked for real names at ports 80 and 443, its policy judges public and private addresses, and a connection that the
policy should have refused arrives where it is counted: no address is out of reach, and none is anybody else's. Names, and the roots
that certificates lead to, are files that are laid over the machine's own, for the processes of the laboratory alone."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from lab.processes import Failure, Place, output
from lab.tls import Pair

PUBLIC = "20.0.0.10"
"""The address of the servers that may be reached."""
DOMAIN = "example.com"
APART = "WEIR_LABORATORY_IS_APART"
"""Is in the environment of a process that has such a network."""
ROOTS = Path("/etc/ssl/certs/ca-certificates.crt")


def enter() -> None:
    """Begins this command anew in a network of its own, if it is in none yet."""
    if APART in os.environ:
        return
    for user in ([], ["--map-root-user"]):
        command = ["unshare", *user, "--net", "--mount"]
        if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            become(*command, "env", f"{APART}=1", sys.executable, *sys.orig_argv[1:])
    print("SKIPPED: this machine lets no process have a network and mounts of its own (unshare --net --mount)")
    sys.exit()


def become(*command: str) -> NoReturn:
    sys.stdout.flush()
    os.execvp(command[0], command)


class Network:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.hosts = place.file("hosts", "127.0.0.1 localhost\n::1 localhost\n")
        self.pair = Pair(place.directory, host=f"*.{DOMAIN}")
        """The certificate of all servers, and the one root that leads to it."""

    async def set_up(self) -> None:
        await self.pair.make()
        await run("ip", "link", "set", "lo", "up")
        await run("ip", "route", "add", "local", "default", "dev", "lo")
        if Path("/proc/net/if_inet6").exists():
            await run("ip", "-6", "route", "add", "local", "default", "dev", "lo")
        # Without a name server a name that is not in the file of hosts is not found.
        for file, over in (
            (self.hosts, "/etc/hosts"),
            (self.pair.certificate, ROOTS),
            ("/dev/null", "/etc/resolv.conf"),
        ):
            await run("mount", "--bind", file, over)

    def name(self, name: str, *addresses: str) -> str:
        """Gives a name its addresses. Returns the name."""
        with self.hosts.open("a") as hosts:
            hosts.writelines(f"{address} {name}\n" for address in addresses or (PUBLIC,))
        return name


async def run(*command: object) -> None:
    status, said = await output(*command)
    if status:
        raise Failure(f"{' '.join(map(str, command))}: {said.strip()}")

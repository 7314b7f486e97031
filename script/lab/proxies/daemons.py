"""The proxies of Debian's packages: squid, tinyproxy and dante, in states of their own at ports of their own."""

import getpass
import os

from lab.processes import Place, Process, free_port, output
from lab.tls import Pair

USER, PASSWORD = "shop", "password-of-the-proxy"
OPEN, BASIC, CLOSED = "open", "basic", "closed"
"""States: every request is taken; only those with a credential; every one but CONNECT."""
STATES = OPEN, BASIC, CLOSED
BEHIND = "behind.test"
"""A name that the proxies alone know."""
HOSTS = f"127.0.0.1 {BEHIND}\n"
Ports = dict[str, int]
"""By state."""


def free_ports() -> Ports:
    return {state: free_port() for state in STATES}


async def squid(place: Place, pair: Pair, plain: Ports, secure: Ports) -> Process:
    """One process at all these ports, of which the clients of `secure` ones speak TLS."""
    ports = [f"http_port 127.0.0.1:{port} name=plain-{state}" for state, port in plain.items()]
    tls = f"tls-cert={pair.certificate} tls-key={pair.key}"
    ports += [f"https_port 127.0.0.1:{port} {tls} name=secure-{state}" for state, port in secure.items()]
    # As root it is another user while it runs, who may not be able to read files or to write them here. So its helper has
    # the password in its command, and what it has to tell goes to its standard error.
    config = f"""
auth_param basic program /bin/sed --unbuffered -e s/^{USER}.{PASSWORD}$/OK/ -e t -e s/.*/ERR/
auth_param basic children 1
acl basic myportname plain-{BASIC} secure-{BASIC}
acl closed myportname plain-{CLOSED} secure-{CLOSED}
acl known proxy_auth REQUIRED
acl tunnels method CONNECT
http_access deny closed tunnels
http_access deny basic !known
http_access allow all
hosts_file {place.file("squid.hosts", HOSTS)}
cache deny all
access_log none
cache_log /dev/null
cache_store_log none
pid_filename none
pinger_enable off
visible_hostname squid.test
cache_effective_user nobody
shutdown_lifetime 0 seconds
"""
    file = place.file("squid.conf", "\n".join(ports) + config)
    # The name is that of its shared memory, which all processes of the machine see.
    name = f"weir{min([*plain.values(), *secure.values()])}"
    process = await place.start("squid", "squid", "-N", "-n", name, "-d", 1, "-f", file)
    for port in [*plain.values(), *secure.values()]:
        await process.accepts(f"127.0.0.1:{port}")
    return process


async def tinyproxy(place: Place, system: list[str], state: str, port: int) -> Process:
    more = {OPEN: "", BASIC: f"BasicAuth {USER} {PASSWORD}", CLOSED: "ConnectPort 1"}[state]
    config = f"Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 500\nLogLevel Connect\n{more}\n"
    file = place.file(f"tinyproxy-{state}.conf", config)
    process = await place.start(f"tinyproxy-{state}", *system, "tinyproxy", "-d", "-c", file)
    await process.accepts(f"127.0.0.1:{port}")
    return process


async def dante(place: Place, system: list[str], state: str, port: int) -> Process:
    user = getpass.getuser()
    config = f"""
logoutput: stderr
internal: 127.0.0.1 port = {port}
external: 127.0.0.1
clientmethod: none
socksmethod: {"username" if state == BASIC else "none"}
user.privileged: {user}
user.unprivileged: {user}
client pass {{ from: 0.0.0.0/0 to: 0.0.0.0/0 }}
socks {"block" if state == CLOSED else "pass"} {{ from: 0.0.0.0/0 to: 0.0.0.0/0 }}
"""
    name = f"danted-{state}"
    file = place.file(f"{name}.conf", config)
    process = await place.start(name, *system, "danted", "-f", file, "-p", place.directory / f"{name}.pid")
    await process.accepts(f"127.0.0.1:{port}")
    return process


async def system(place: Place) -> list[str]:
    """A command that runs another one in a system that knows the name `BEHIND` and the user of the proxies."""
    _, password = await output("openssl", "passwd", "-6", PASSWORD)
    user = f"{getpass.getuser()}:x:{os.getuid()}:{os.getgid()}::/:"
    files = {
        "HOSTS": HOSTS,
        "PASSWD": f"{user}\n{USER}:x:1000:1000::/:\n",
        "GROUP": f"all:x:{os.getgid()}:\n{USER}:x:1000:\n",
        "SHADOW": f"{USER}:{password.strip()}:19000::::::\n",
    }
    settings = [f"NSS_WRAPPER_{kind}={place.file(f'system-{kind.lower()}', text)}" for kind, text in files.items()]
    return ["env", "LD_PRELOAD=libnss_wrapper.so", *settings]

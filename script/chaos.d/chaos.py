"""Runs a gateway before four endpoints that take turns at failing, and judges what its callers got."""

import argparse
import asyncio
import random
import re
import signal
import sys
import time
import urllib.request
from pathlib import Path

from processes import Failure, Process, Processes, free_port

CALLERS = 16
SHARE = 0.999
"""The good ones among the requests with a method that may be retried."""
BUDGET = {"ratio": 0.2, "minimum": 1, "burst": 10, "window": 10}
"""The defaults of `retryBudget`."""
FAULTS = ("fails", "hangs", "resets", "dead")
LONGEST = 3.0
"""Seconds of one fault."""


class Endpoint:
    """One of four: a fault begins and ends it."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.port = port

    async def start(self, processes: Processes) -> None: ...

    async def fault(self, kind: str) -> None: ...

    async def recover(self) -> None: ...


class Faulty(Endpoint):
    process: Process

    async def start(self, processes: Processes) -> None:
        here = Path(__file__).parent
        self.process = await processes.start(self.name, sys.executable, here / "origin.py", self.port)
        await self.process.accepts(f"127.0.0.1:{self.port}")
        self.drain = asyncio.ensure_future(self.read())

    async def read(self) -> None:
        async for _ in self.process.facts():
            pass

    async def fault(self, kind: str) -> None:
        self.process.order(f"becomes {kind}")

    async def recover(self) -> None:
        self.process.order("becomes well")


class Server(Endpoint):
    """nginx or haproxy: a fault stops the process for a while, or kills it."""

    def __init__(self, name: str, port: int, directory: Path, config: str, *command: str) -> None:
        super().__init__(name, port)
        self.file = directory / f"{name}.conf"
        self.file.write_text(config)
        self.command = command
        self.directory = directory
        self.process: asyncio.subprocess.Process | None = None

    async def start(self, processes: Processes) -> None:
        # It is killed and started again, so that it can't be one of the processes that must live.
        log = (self.directory / f"{self.name}.log").open("ab")
        self.process = await asyncio.create_subprocess_exec(*self.command, str(self.file), stdout=log, stderr=log)
        for _ in range(100):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                return writer.close()
            except OSError:
                await asyncio.sleep(0.05)
        raise Failure(f"{self.name} does not listen")

    async def fault(self, kind: str) -> None:
        assert self.process
        self.process.send_signal(signal.SIGSTOP if kind == "hangs" else signal.SIGKILL)
        if kind != "hangs":
            await self.process.wait()

    async def recover(self) -> None:
        assert self.process
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
        else:
            await self.start(Processes(self.directory))

    def stop(self) -> None:
        if self.process and self.process.returncode is None:
            self.process.kill()


def endpoints(directory: Path) -> list[Endpoint]:
    nginx, haproxy = free_port(), free_port()
    temporary = "\n".join(f"  {kind}_temp_path {directory}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return [
        Server(
            "nginx",
            nginx,
            directory,
            f"""daemon off;
master_process off;
pid {directory}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 100000;
{temporary}
  server {{ listen 127.0.0.1:{nginx}; location / {{ return 200 $uri; }} }}
}}
""",
            "nginx",
            "-e",
            "stderr",
            "-p",
            str(directory),
            "-c",
        ),
        Server(
            "haproxy",
            haproxy,
            directory,
            f"""global
  nbthread 1
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 1s
frontend f
  bind 127.0.0.1:{haproxy}
  http-request return status 200 content-type text/plain lf-string "%[path]"
""",
            "haproxy",
            "-db",
            "-f",
        ),
        Faulty("faulty-1", free_port()),
        Faulty("faulty-2", free_port()),
    ]


def config(ports: list[int]) -> str:
    listed = ", ".join(f'"127.0.0.1:{port}"' for port in ports)
    return f"""upstreams:
  - name: chaos
    endpoints: [{listed}]
    outlier: {{ consecutiveFailures: 3, ejectFor: 1s }}
    check: {{ path: /healthz, interval: 500ms, timeout: 300ms, unhealthyAfter: 2, healthyAfter: 1 }}
    slowStart: 1s
routes:
  - {{ name: chaos, upstream: chaos, timeout: 5s, retry: {{ limit: 1 }}, hedge: {{ after: 300ms }} }}
"""


async def harm(all_of: list[Endpoint], until: float, random_: random.Random) -> None:
    """Two lanes of faults, so that at least two endpoints are well at any time."""
    well = list(all_of)

    async def lane() -> None:
        while time.monotonic() < until - LONGEST:
            endpoint = well.pop(random_.randrange(len(well)))
            kind = random_.choice(FAULTS)
            print(f"{until - time.monotonic():6.1f} s left: {endpoint.name} {kind}", flush=True)
            await endpoint.fault(kind)
            await asyncio.sleep(random_.uniform(0.5, LONGEST))
            await endpoint.recover()
            well.append(endpoint)
            await asyncio.sleep(random_.uniform(0.2, 1.5))

    await asyncio.gather(lane(), lane())


def sums(page: str, name: str, *labels: str) -> float:
    """The sum of a metric's samples that have these labels."""
    found = re.findall(rf"^{name}(?:{{(.*)}})? ([0-9.e+-]+)$", page, re.MULTILINE)
    return sum(float(value) for text, value in found if all(label in text for label in labels))


def judge(page: str, sent: int, counts: dict[str, int], seconds: float) -> list[str]:
    """The sentences about what is wrong."""
    wrong = []
    answered = sum(counts.values())
    if answered != sent:
        wrong.append(f"{sent} requests have {answered} ends")
    for kind in ("wrong", "none"):
        for method in ("GET", "POST"):
            if counts.get(f"{method} {kind}"):
                wrong.append(f"{counts[f'{method} {kind}']} answers to {method} are {kind}")
    gets = sum(number for key, number in counts.items() if key.startswith("GET"))
    good = counts.get("GET 200", 0) / max(1, gets)
    print(f"{good:.5f} of {gets} GETs are good")
    if good < SHARE:
        wrong.append(f"only {good:.5f} of the GETs are good, not {SHARE}")
    counted = sums(page, "weir_gateway_requests_total", 'route="chaos"')
    if counted != sent:
        wrong.append(f"the page counts {counted:.0f} requests, the callers {sent}")
    retries = sums(page, "weir_retries_total") + sums(page, "weir_hedges_total", 'result="started"')
    allowed = BUDGET["ratio"] * sent + BUDGET["minimum"] * (seconds + BUDGET["window"]) + BUDGET["burst"]
    print(f"{retries:.0f} retries of {sent} requests, of at most {allowed:.0f}")
    if retries > allowed:
        wrong.append(f"{retries:.0f} retries exceed their budget of {allowed:.0f}")
    attempts, started = sums(page, "weir_endpoint_attempts_total"), sums(page, "weir_attempts_started_total")
    print(f"{attempts:.0f} of {started:.0f} attempts have told their endpoints how they went")
    if attempts > started:
        wrong.append(f"endpoints count {attempts:.0f} attempts, of which only {started:.0f} began")
    return wrong


async def run(program: str, directory: Path, seconds: float, seed: int) -> list[str]:
    processes, all_of = Processes(directory), endpoints(directory)
    try:
        for endpoint in all_of:
            await endpoint.start(processes)
        file = directory / "weir.yml"
        file.write_text(config([endpoint.port for endpoint in all_of]))
        addresses = ("--gateway.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0")
        weir = await processes.start("weir", program, "serve", f"--config.file={file}", "--gateway.workers=2", *addresses)
        gateway = (await weir.logged("msg=forwarding url=http://")).rstrip("/")
        metrics = await weir.logged('msg="serving metrics" url=')
        callers = await processes.start("callers", sys.executable, Path(__file__).parent / "callers.py", gateway, CALLERS)
        began = time.monotonic()
        random_ = random.Random(seed)

        async def load() -> dict:
            async for fact in callers.facts():
                if "sent" in fact:
                    return fact
            raise Failure(f"the callers ended: {callers.tail()}")

        loading = asyncio.ensure_future(load())
        await harm(all_of, began + seconds, random_)
        weir.process.send_signal(signal.SIGHUP)
        await asyncio.sleep(0.5)
        callers.order("stop")
        fact = await asyncio.wait_for(loading, 30)
        await asyncio.sleep(0.5)
        page = await asyncio.to_thread(lambda: urllib.request.urlopen(metrics, timeout=10).read().decode())
        (directory / "page.txt").write_text(page)
        print(f"answers: {dict(sorted(fact['counts'].items()))}")
        weir.check()
        return judge(page, fact["sent"], fact["counts"], time.monotonic() - began)
    finally:
        for endpoint in all_of:
            if isinstance(endpoint, Server):
                endpoint.stop()
        await processes.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/chaos")
    parser.add_argument("--short", action="store_true", help="40 seconds")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("directory", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    seconds = 40 if arguments.short else arguments.seconds
    print(f"{seconds:.0f} s of faults, --seed {arguments.seed}", flush=True)
    try:
        wrong = asyncio.run(run(arguments.program, Path(arguments.directory), seconds, arguments.seed))
    except Failure as failure:
        sys.exit(f"script/chaos: {failure}")
    for sentence in wrong:
        print(f"WRONG: {sentence}")
    sys.exit(1 if wrong else 0)


main()

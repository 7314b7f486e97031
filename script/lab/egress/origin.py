"""The servers that programs ask: an application of Flask's under gunicorn, by http and by https.

Each answer follows from the request alone, so that two answers to one request are equal, whichever way it took. Beside pages there are
git's repositories under `/git/`, which `git http-backend` serves.
"""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from flask import Flask, Response, redirect, request
from werkzeug.wrappers import Response as BaseResponse

from lab.egress.cases import STEERED
from lab.egress.network import PUBLIC, Network
from lab.processes import Place

REPOSITORIES = "WEIR_LABORATORY_REPOSITORIES"
"""The environment's name for the directory of git's repositories."""
METHODS = ["GET", "POST", "PUT"]
PIECE = 16 << 10
app = Flask(__name__)


@cache
def content(count: int) -> bytes:
    return random.Random(count).randbytes(count)


@app.get("/bytes/<int:count>")
def with_length(count: int) -> Response:
    return Response(content(count), mimetype="application/octet-stream")


@app.get("/chunks/<int:count>")
def in_chunks(count: int) -> Response:
    def pieces() -> Iterator[bytes]:
        for start in range(0, count, PIECE):
            yield content(count)[start : start + PIECE]

    return Response(pieces(), mimetype="application/octet-stream")


@app.get("/status/<int:status>")
def with_status(status: int) -> Response:
    return Response(f"status {status}", status, mimetype="text/plain")


@app.get("/prices")
def prices() -> dict[str, float]:
    return {"amount": 12.5}


@app.get("/redirect/<int:count>")
def redirected(count: int) -> BaseResponse | str:
    return redirect(f"/redirect/{count - 1}") if count else "arrived"


@app.get("/elsewhere")
def elsewhere() -> BaseResponse:
    """Leads to the other scheme."""
    other = "http" if request.scheme == "https" else "https"
    return redirect(f"{other}://{request.host}/bytes/100")


@app.route("/echo/<path:_>", methods=METHODS)
def echo(_: str) -> dict[str, object]:
    """Tells what came, without what gateways are meant to add."""
    body = request.get_data()
    # Only in a tunnel's bytes is it the program's own affair; wget sends such fields there too.
    seen = request.scheme == "http" or STEERED in request.host
    return {
        "method": request.method,
        "target": request.environ["RAW_URI"],
        "host": request.headers.get("Host"),
        "authorization": request.headers.get("Authorization"),
        "of_proxies": sorted(name for name, _ in request.headers if seen and name.startswith("Proxy-")),
        "length": len(body),
        "digest": hashlib.sha256(body).hexdigest(),
    }


@app.route("/git/<path:path>", methods=METHODS)
def repository(path: str) -> Response:
    facts = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": f"/{path}",
        "QUERY_STRING": request.query_string.decode(),
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "GIT_PROJECT_ROOT": os.environ[REPOSITORIES],
        "GIT_HTTP_EXPORT_ALL": "1",
        "REMOTE_USER": "laboratory",
        "REMOTE_ADDR": request.remote_addr or "",
    }
    said = subprocess.run(
        ["git", "http-backend"], input=request.get_data(), capture_output=True, check=True, env={**os.environ, **facts}
    ).stdout
    head, _, body = said.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")]
    fields = {name: value for name, _, value in lines}
    return Response(body, int(fields.pop("Status", "200").split()[0]), fields)


async def start(place: Place, network: Network, repositories: Path) -> None:
    """Serves at the public address, at the ports of both schemes."""
    pair = network.pair
    for port, kind in ((80, ()), (443, ("--certfile", pair.certificate, "--keyfile", pair.key))):
        process = await place.start(
            f"origin-{port}",
            *(sys.executable, "-m", "gunicorn", "--bind", f"{PUBLIC}:{port}", "--log-level", "warning"),
            *("--worker-class", "gthread", "--threads", 32, "--keep-alive", 60),
            *("--env", f"{REPOSITORIES}={repositories}", *kind, "lab.egress.origin:app"),
        )
        await process.accepts(f"{PUBLIC}:{port}")

"""A token service: Authlib's authorization server in Flask, as a process of its own.

    python -m lab.credentials.tokens PORT UPSTREAM CLIENTS

It grants `client_credentials`, to clients that show their secrets in Basic or in the form. CLIENTS are the arguments of Client as JSON.
Each token is told to the upstream before it is handed out. Beside `/token` it takes these orders, as JSON:

    GET /asked                              every request for a token: when, by which client, with which secret, its status
    POST /rotate {client, secret, seconds}  another secret, beside which the old one is good for so long
    POST /hold, POST /release {client}      its requests for tokens wait in between
"""

import json
import logging
import os
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass
from typing import Any

# It listens on the loopback only.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
from authlib.common.security import generate_token
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from flask import Flask, Response, g, request
from werkzeug.serving import make_server

from lab.credentials.upstream import ACCEPT

LONGEST_HOLD = 60
METHODS = ["client_secret_basic", "client_secret_post"]


@dataclass
class Client(ClientMixin):
    name: str
    secret: str
    lifetime: int = 3600
    """Seconds for which its tokens are good."""
    scope: str = "read"
    old: str = ""
    old_until: float = 0

    def __post_init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()

    def rotate(self, secret: str, seconds: float) -> None:
        self.old, self.old_until, self.secret = self.secret, time.monotonic() + seconds, secret

    def get_client_id(self) -> str:
        return self.name

    def get_allowed_scope(self, scope: str | None) -> str:
        """
        >>> Client("shop", "").get_allowed_scope("read write"), Client("shop", "").get_allowed_scope(None)
        ('read', 'read')
        """
        return " ".join(word for word in (scope or self.scope).split() if word in self.scope.split())

    def check_client_secret(self, secret: str) -> bool:
        g.secret = secret
        return secret in (self.secret, self.old if time.monotonic() < self.old_until else None)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in METHODS

    def check_grant_type(self, grant: str) -> bool:
        return grant == "client_credentials"


class Grant(ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS


def made(upstream: str, clients: dict[str, Client]) -> Flask:
    app = Flask(__name__)
    asked: list[dict[str, object]] = []

    def find(name: str) -> Client | None:
        g.client = name
        if client := clients.get(name):
            client.gate.wait(LONGEST_HOLD)
        return client

    def keep(token: dict[str, Any], granted: Any) -> None:
        facts = {"owner": g.client, "value": f"Bearer {token['access_token']}", "scope": token.get("scope", "")}
        body = json.dumps({**facts, "seconds": token["expires_in"]}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"http://{upstream}{ACCEPT}", body), timeout=30):
            pass

    server = AuthorizationServer(app, find, keep)
    server.register_grant(Grant)
    server.register_token_generator(
        "default",
        BearerTokenGenerator(lambda **_: generate_token(42), expires_generator=lambda client, _: client.lifetime),
    )

    @app.post("/token")
    def token() -> Response:
        at, g.client, g.secret = time.monotonic(), "", ""
        answer: Response = server.create_token_response()
        asked.append({"at": at, "client": g.client, "secret": g.secret, "status": answer.status_code})
        return answer

    @app.get("/asked")
    def tell() -> list[dict[str, object]]:
        return asked

    @app.post("/rotate")
    def rotate() -> dict[str, object]:
        order = request.get_json()
        clients[order["client"]].rotate(order["secret"], order["seconds"])
        return {}

    @app.post("/hold")
    def hold() -> dict[str, object]:
        clients[request.get_json()["client"]].gate.clear()
        return {}

    @app.post("/release")
    def release() -> dict[str, object]:
        clients[request.get_json()["client"]].gate.set()
        return {}

    return app


def main(port: str, upstream: str, clients: str) -> None:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    named = {one["name"]: Client(**one) for one in json.loads(clients)}
    make_server("127.0.0.1", int(port), made(upstream, named), threaded=True).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

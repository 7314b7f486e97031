"""The secrets that are looked for, and a token service that shows them to the gateway in all that it says."""

import asyncio
import base64
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, quote_plus, unquote

from lab.credentials.rig import Config, swap
from lab.credentials.server import Request, Server, response, told
from lab.credentials.upstream import Upstream

USER = "shop"
"""The client's identifier, and the user of Basic."""
BEGINNING = 10
"""Octets by which a secret that was cut is known."""
SHOWN = ("client_secret", "assertion", "subject_token", "client_assertion", "software")
"""Fields of a form that have secrets."""


@dataclass(frozen=True)
class Hidden:
    name: str
    text: str

    def forms(self) -> Iterator[str]:
        """The texts by which it is known.

        >>> list(Hidden("a", "0123456789+/").forms())[:4]
        ['0123456789', '0123456789%2B%2F', 'c2hvcDowMTIzNDU2Nzg5Ky8=', 'c2hvcDowMTIzNDU2Nzg5JTJCJTJG']
        """
        yield self.text[:BEGINNING]
        yield quote(self.text, safe="")
        yield basic(self.text)
        yield basic(quote_plus(self.text))
        yield encoded(self.text)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def basic(secret: str) -> str:
    return encoded(f"{USER}:{secret}")


class Hoard:
    """Secrets as they stand in a configuration."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.hidden: dict[str, Hidden] = {}

    def text(self, name: str) -> str:
        """A secret of that name, always the same."""
        return self.hidden.setdefault(name, Hidden(name, f"{secrets.token_hex(8)}+/=&%~{name}")).text

    def file(self, name: str, **more: str) -> dict[str, str]:
        path = self.path(name)
        swap(path, self.text(name) + "\n")
        return {"file": str(path), **more}

    def path(self, name: str) -> Path:
        return self.directory / f"{name}-mount" / name

    def found(self, text: str) -> list[str]:
        """The names of those that a text shows.

        >>> hoard = Hoard(Path())
        >>> hoard.found(f"{hoard.text('a')[:12]} {basic(hoard.text('b'))} {hoard.text('c')[1:]}")
        ['a', 'b']
        """
        return [name for name, one in self.hidden.items() if any(form in text for form in one.forms())]


class Indiscreet(Server):
    """A token service that shows what it was sent. `/token/NAME` gives a token, the other paths are manners of showing."""

    def __init__(self, hoard: Hoard, upstream: Upstream) -> None:
        super().__init__(self.show)
        self.hoard, self.upstream = hoard, upstream

    async def show(self, request: Request, writer: asyncio.StreamWriter) -> None:
        first, _, name = request.path[1:].partition("/")
        if first == "token":
            writer.write(self.token(f"token-{name}"))
        else:
            writer.write(MANNERS[first](self.hoard, " ".join(received(request))))

    def token(self, name: str) -> bytes:
        value = self.hoard.text(name)
        self.upstream.accept(name, f"Bearer {value}")
        return told(200, {"access_token": value, "token_type": "Bearer", "expires_in": 3600})


def received(request: Request) -> Iterator[str]:
    """The secrets of a request for a token, each in the forms that it has there.

    >>> list(received(Request("POST", "/", {"authorization": "Basic " + basic("a%2B")}, b"assertion=b%2B&scope=c")))
    ['a+', 'a%2B', 'c2hvcDphJTJC', 'b+', 'b%2B']
    """
    scheme, _, value = request.fields.get("authorization", "").partition(" ")
    if scheme == "Basic":
        written = base64.b64decode(value).decode().partition(":")[2]
        yield from (unquote(written), written, value)
    form = parse_qs(request.body.decode())
    for text in (text for name in SHOWN for text in form.get(name, [])):
        yield from (text, quote(text, safe=""))


def error(word: str, description: str) -> bytes:
    return told(400, {"error": word, "error_description": description})


MANNERS: dict[str, Callable[[Hoard, str], bytes]] = {
    "description": lambda _, shown: error("invalid_client", f"you said {shown}"),
    # A secret that stands where the description is cut.
    "edge": lambda _, shown: error("invalid_client", "." * 185 + shown),
    "word": lambda _, shown: error(shown, ""),
    "html": lambda _, shown: response(500, f"<p>{shown}</p>", "Content-Type: text/html\r\n"),
    "phrase": lambda _, shown: response(500).replace(b"Internal Server Error", shown.encode()),
    "location": lambda _, shown: response(302, "", f"Location: http://127.0.0.1/?{shown.split()[-1]}\r\n"),
    "field": lambda _, shown: response(503, shown, f"X-Said: {shown}\r\nContent-Type: {shown.split()[-1]}\r\n"),
    "kind": lambda hoard, shown: told(200, {"access_token": hoard.text("token-of-a-kind"), "token_type": shown}),
    "expires": lambda hoard, shown: told(
        200, {"access_token": hoard.text("token-that-ends"), "token_type": "bearer", "expires_in": shown}
    ),
}


def configuration(hoard: Hoard, upstream: str, service: str, log: object) -> Config:
    """All places of a configuration that take a secret."""

    def oauth2(path: str, **keys: object) -> Config:
        return {"tokenURL": f"http://{service}/{path}", "clientID": USER, **keys}

    def by_basic(manner: str) -> Config:
        return oauth2(manner, clientSecret=hoard.text(f"basic-{manner}"))

    def by_post(manner: str) -> Config:
        return oauth2(manner, clientSecret=hoard.file(f"post-{manner}"), authentication="post")

    def by_grants(path: Callable[[str], str], end: str) -> dict[str, Config]:
        return {
            f"jwt{end}": oauth2(path("jwt"), grant="jwtBearer", assertion=hoard.file(f"jwt{end}")),
            f"exchange{end}": oauth2(
                path("exchange"), grant="tokenExchange", subjectToken=hoard.file(f"exchange{end}")
            ),
            f"client{end}": oauth2(
                path("client"), authentication="assertion", clientAssertion=hoard.file(f"client{end}")
            ),
            f"further{end}": oauth2(path("further"), parameters={"software": hoard.text(f"further{end}")}),
        }

    granted = {
        **{f"basic-{manner}": by_basic(manner) for manner in MANNERS},
        **{f"post-{manner}": by_post(manner) for manner in ("description", "html", "phrase")},
        **by_grants(lambda name: f"token/{name}", ""),
        **by_grants(lambda name: "description", "-refused"),
        "file": oauth2("token/file", clientSecret=hoard.file("secret", prefix="before-", suffix="-behind")),
    }
    fixed: dict[str, Config] = {
        "key-text": {"field": {"name": "X-Key", "value": hoard.text("field")}},
        "key-file": {"field": {"name": "X-Key", "value": hoard.file("field-file")}},
        "user": {"basic": {"user": USER, "password": hoard.text("password")}},
        "user-file": {"basic": {"user": USER, "password": hoard.file("password-file")}},
        "bearer": {"bearer": hoard.text("bearer")},
        "bearer-file": {"bearer": hoard.file("bearer-file")},
    }
    credentials = {**{name: {"oauth2": one} for name, one in granted.items()}, **fixed}
    fields = {
        "set": {"X-Set": hoard.text("set"), "X-Set-File": hoard.file("set-file", prefix="Key ")},
        "add": {"X-Add": hoard.text("add"), "X-Add-File": hoard.file("add-file")},
    }
    checked = {"X-Key": hoard.text("check"), "X-Key-File": hoard.file("check-file")}
    check = {"path": "/key", "interval": "500ms", "headers": checked}
    return {
        "accessLog": log,
        "credentials": [{"name": name, **one} for name, one in credentials.items()],
        "upstreams": [{"name": "checked", "endpoints": [upstream], "check": check}],
        "routes": [
            {
                "name": name,
                "match": {"pathPrefix": f"/{name}"},
                "upstream": "checked",
                "credential": name,
                "headers": fields,
            }
            for name in credentials
        ],
    }


def accept_some(hoard: Hoard, upstream: Upstream) -> None:
    """The upstream takes secrets that stand in the configuration, and refuses those of files."""
    upstream.accept("field", hoard.text("field"))
    upstream.accept("check", hoard.text("check"))
    upstream.accept("password", f"Basic {basic(hoard.text('password'))}")
    upstream.accept("bearer", f"Bearer {hoard.text('bearer')}")


def broken(hoard: Hoard) -> Config:
    """Problems in places that have secrets."""
    at = {"name": "a", "upstream": "http://127.0.0.1:1"}
    wrong = hoard.directory / "wrong"
    wrong.write_text(f"{hoard.text('set')}\n{hoard.text('add')}\n")
    token = {"tokenURL": "https://id.test/token", "clientID": USER}
    return {
        "credentials": [
            {"name": "control", "bearer": f"{hoard.text('bearer')}\n"},
            {"name": "file", "bearer": {"file": str(wrong)}},
            {"name": "list", "bearer": [hoard.text("bearer")]},
            {
                "name": "two",
                "bearer": hoard.text("bearer"),
                "basic": {"user": USER, "password": hoard.text("password")},
            },
            {"name": "unknown", "basic": {"user": USER, "password": hoard.text("password"), "was": hoard.text("set")}},
            {"name": "user", "basic": {"user": f"{USER}:", "password": hoard.text("password")}},
            {"name": "none", "oauth2": {**token, "clientSecret": {"text": hoard.text("basic-html")}}},
            {"name": "sent", "oauth2": {**token, "parameters": {"client_secret": hoard.text("basic-html")}}},
            {"name": "url", "oauth2": {**token, "tokenURL": f"https://a:{hoard.text('basic-html')}@id.test/"}},
        ],
        "routes": [{**at, "headers": {"set": {"X-Set": f"{hoard.text('set')}\n", "Host": hoard.file("set-file")}}}],
    }

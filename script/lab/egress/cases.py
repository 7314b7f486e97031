"""The requests that programs make, directly and through the gateway, and what they get."""

from dataclasses import asdict, dataclass, field

MEBIBYTE = 1 << 20
STEERED = "-steered"
"""The end of the names of hosts, before their domain, which the gateway asks by TLS."""


@dataclass(frozen=True)
class Case:
    name: str
    path: str
    method: str = "GET"
    status: int = 200
    body: int = 0
    """The size of what is sent."""
    chunked: bool = False
    """Whether it is sent without a length."""
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def sent(self) -> bytes:
        """The body, of octets that no text has."""
        return bytes(range(256)) * (self.body // 256)


@dataclass
class Answer:
    """What a program got in the end, after redirects."""

    status: int
    digest: str
    """SHA-256 of the body."""
    length: str = ""
    """Content-Length of an answer to HEAD."""

    def __str__(self) -> str:
        return f"{self.status}, {self.digest[:8]}{self.length and f', {self.length} bytes'}"


CASES = [
    Case("bytes", "/bytes/100"),
    Case("mebibyte", f"/bytes/{MEBIBYTE}"),
    Case("chunks", f"/chunks/{MEBIBYTE}"),
    Case("nothing", "/bytes/0"),
    Case("head", "/bytes/1000", "HEAD"),
    Case("missing", "/status/404", status=404),
    Case("failing", "/status/500", status=500),
    Case("redirects", "/redirect/3"),
    Case("elsewhere", "/elsewhere"),
    Case("target", "/echo/a%2Fb/;c=%c3%a9?d=%20&e=/?"),
    Case("authorized", "/echo/body", fields={"Authorization": "Basic b3JpZ2luOnMzY3JldA=="}),
    Case("posted", "/echo/body", "POST", body=MEBIBYTE),
    Case("unlengthed", "/echo/body", "POST", body=MEBIBYTE, chunked=True),
]


def told(cases: list[Case]) -> list[dict[str, object]]:
    """For programs in other languages."""
    return [asdict(case) for case in cases]

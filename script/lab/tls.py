"""Certificates with ECDSA keys, made by the openssl program."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

from lab.processes import Failure, output


class Pair:
    """A certificate and its key, in files that others take the place of."""

    def __init__(self, directory: Path, name: str = "server", host: str = "endure") -> None:
        self.host = host
        self.certificate = directory / f"{name}.pem"
        self.key = directory / f"{name}.key"

    @property
    def listener(self) -> str:
        """The value of a listener's `tls`, in the form of YAML."""
        return f"{{ certificates: [{{ certificate: {self.certificate}, key: {self.key} }}] }}"

    async def make(self, days: int = 30) -> "Pair":
        """Takes the place of what was there, as a renewal does: each file at once, the key first."""
        certificate, key = (path.with_name(f"{path.name}.new") for path in (self.certificate, self.key))
        await openssl(
            *("req", "-x509", "-subj", f"/CN={self.host}", "-addext", f"subjectAltName=DNS:{self.host},IP:127.0.0.1"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", days),
            *("-keyout", key, "-out", certificate),
        )
        key.rename(self.key)
        certificate.rename(self.certificate)
        return self

    async def ends(self) -> int:
        """Seconds since 1970."""
        text = await openssl("x509", "-noout", "-enddate", "-in", self.certificate)
        return ssl.cert_time_to_seconds(text.rpartition("notAfter=")[2].strip())

    async def is_shown(self, address: str) -> bool:
        host, port = address.split(":")
        shown = await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)), timeout=10)
        return shown.split() == self.certificate.read_text().split()


def any_certificate() -> ssl.SSLContext:
    """That of a client that takes any certificate."""
    made = ssl.create_default_context()
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def client_hello() -> bytes:
    """The first bytes of a client's connection."""
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        any_certificate().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="endure").do_handshake()
    return sent.read()


async def openssl(*arguments: object) -> str:
    status, text = await output("openssl", *arguments)
    if status:
        raise Failure(f"openssl {arguments[0]}: {text}")
    return text

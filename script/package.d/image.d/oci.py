"""Writes weir's container image as an OCI archive. Called by script/package.d/image.

    oci.py PROGRAM CERTIFICATES NOTICES ARCHIVE VERSION REVISION SECONDS [SOURCE]

The image has one layer. Nothing within differs between two runs: names are sorted, all times are SECONDS since 1970. No
tool for containers is needed, so that it can be made on any machine.
"""

import gzip
import hashlib
import io
import json
import platform
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path

USER = 65532
COMMAND = [
    "serve",
    "--config.file=/etc/weir/weir.yml",
    "--gateway.listen-address=:8080",
    "--web.listen-address=:9464",
]
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIGURATION = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"

Files = dict[str, tuple[int, bytes]]
"""The mode and the bytes by the path."""


def contents(program: Path, certificates: Path, notices: Path, demonstration: Path) -> Files:
    return {
        "etc/group": (0o644, f"root:x:0:\nweir:x:{USER}:\n".encode()),
        # Name services other than these two would be looked for in libraries.
        "etc/nsswitch.conf": (0o644, b"passwd: files\ngroup: files\nhosts: files dns\n"),
        "etc/passwd": (0o644, f"root:x:0:0:root:/:/none\nweir:x:{USER}:{USER}:weir:/:/none\n".encode()),
        "etc/ssl/certs/ca-certificates.crt": (0o644, certificates.read_bytes()),
        "etc/weir/weir.yml": (0o644, demonstration.read_bytes()),
        "usr/bin/weir": (0o755, program.read_bytes()),
        "usr/share/doc/weir/copyright": (0o644, notices.read_bytes()),
    }


def archive(files: Files, seconds: int) -> bytes:
    """A tar of files and of the directories above them, all of which are root's.

    >>> made = tarfile.open(fileobj=io.BytesIO(archive({"b/c": (0o755, b"1"), "a": (0o644, b"")}, 7)))
    >>> [(entry.name, oct(entry.mode), entry.isdir(), entry.uid, entry.mtime) for entry in made]
    [('a', '0o644', False, 0, 7), ('b', '0o755', True, 0, 7), ('b/c', '0o755', False, 0, 7)]
    """
    directories = {str(parent) for path in files for parent in Path(path).parents} - {"."}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(directories | files.keys()):
            entry = tarfile.TarInfo(path)
            entry.mtime = seconds
            entry.uname = entry.gname = "root"
            if path in directories:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            else:
                entry.mode, data = files[path]
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def configuration(layer: bytes, labels: dict[str, str], seconds: int) -> dict[str, object]:
    """The program to run, and its user. `layer` is not compressed."""
    created = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "config": {
            "Cmd": COMMAND,
            "Entrypoint": ["/usr/bin/weir"],
            "Env": ["PATH=/usr/bin"],
            "ExposedPorts": {"8080/tcp": {}, "9464/tcp": {}},
            "Labels": labels,
            "StopSignal": "SIGTERM",
            "User": f"{USER}:{USER}",
            "WorkingDir": "/",
        },
        "created": created,
        "history": [{"created": created, "created_by": "script/package image"}],
        "os": "linux",
        "rootfs": {"diff_ids": [digest(layer)], "type": "layers"},
    }


def image(files: Files, labels: dict[str, str], seconds: int) -> bytes:
    """An archive with the layout of an image (OCI Image Layout 1.0.0)."""
    blobs: Files = {}

    def blob(data: bytes, kind: str) -> dict[str, object]:
        blobs[f"blobs/{digest(data).replace(':', '/')}"] = (0o644, data)
        return {"mediaType": kind, "digest": digest(data), "size": len(data)}

    layer = archive(files, seconds)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob(text(configuration(layer, labels, seconds)), CONFIGURATION),
        "layers": [blob(gzip.compress(layer, 6, mtime=0), LAYER)],
        "annotations": labels,
    }
    name = {"org.opencontainers.image.ref.name": f"weir:{labels['org.opencontainers.image.version']}"}
    index = {"schemaVersion": 2, "manifests": [blob(text(manifest), MANIFEST) | {"annotations": name}]}
    blobs["index.json"] = (0o644, text(index))
    blobs["oci-layout"] = (0o644, text({"imageLayoutVersion": "1.0.0"}))
    return archive(blobs, seconds)


def text(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def main(
    program: str, certificates: str, notices: str, target: str, version: str, revision: str, seconds: str, source: str = ""
) -> None:
    labels = {"version": version, "revision": revision, "source": source, "licenses": "Apache-2.0"}
    named = {f"org.opencontainers.image.{name}": value for name, value in labels.items() if value}
    files = contents(Path(program), Path(certificates), Path(notices), Path("deploy/image/weir.yml"))
    Path(target).write_bytes(image(files, named, int(seconds)))


if __name__ == "__main__":
    main(*sys.argv[1:])

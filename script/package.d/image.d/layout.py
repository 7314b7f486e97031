"""Reads an image's archive and says what is wrong with it. Called by script/package.d/image, and used by trial.py.

    layout.py ARCHIVE
"""

import gzip
import io
import json
import re
import sys
import tarfile
from pathlib import Path
from typing import Any

from oci import digest

FILES = {
    "etc/group",
    "etc/nsswitch.conf",
    "etc/passwd",
    "etc/ssl/certs/ca-certificates.crt",
    "etc/weir/weir.yml",
    "usr/bin/weir",
    "usr/share/doc/weir/copyright",
}


class Image:
    def __init__(self, archive: Path) -> None:
        with tarfile.open(archive) as tar:
            self.blobs = {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}
        (entry,) = json.loads(self.blobs["index.json"])["manifests"]
        self.name: str = entry["annotations"]["org.opencontainers.image.ref.name"]
        self.manifest = json.loads(self.blob(entry))
        self.configuration: dict[str, Any] = json.loads(self.blob(self.manifest["config"]))
        (layer,) = self.manifest["layers"]
        self.layer = gzip.decompress(self.blob(layer))

    def blob(self, descriptor: dict[str, Any]) -> bytes:
        return self.blobs[f"blobs/{descriptor['digest'].replace(':', '/')}"]

    def root(self) -> tarfile.TarFile:
        return tarfile.open(fileobj=io.BytesIO(self.layer))

    @property
    def size(self) -> int:
        """Bytes of all files, unpacked."""
        return sum(entry.size for entry in self.root())

    def problems(self) -> list[str]:
        config = self.configuration["config"]
        labels = {name.removeprefix("org.opencontainers.image.") for name in config["Labels"]}
        entries = {entry.name: entry for entry in self.root()}
        files = {name for name, entry in entries.items() if entry.isfile()}
        checks = {
            "a blob is not what its name says": all(is_named_well(name, data) for name, data in self.blobs.items()),
            "the layer is not what the configuration says": self.configuration["rootfs"]["diff_ids"] == [digest(self.layer)],
            f"the files are {sorted(files)}": files == FILES,
            "not all is root's": all(entry.uid == entry.gid == 0 for entry in entries.values()),
            "something may be written": not any(entry.mode & 0o7022 for entry in entries.values()),
            "something is neither a file nor a directory": all(entry.isfile() or entry.isdir() for entry in entries.values()),
            "times differ": len({entry.mtime for entry in entries.values()}) == 1,
            f"the user is {config['User']}": config["User"] == "65532:65532",
            f"the entry point is {config['Entrypoint']}": config["Entrypoint"] == ["/usr/bin/weir"],
            f"the labels are {sorted(labels)}": {"version", "revision", "licenses"} <= labels,
        }
        return [problem for problem, holds in checks.items() if not holds]


def is_named_well(path: str, data: bytes) -> bool:
    """Whether the name of a blob is its digest.

    >>> is_named_well("blobs/sha256/00", b""), is_named_well("index.json", b"")
    (False, True)
    """
    blob = re.fullmatch("blobs/sha256/(.*)", path)
    return blob is None or digest(data) == f"sha256:{blob[1]}"


if __name__ == "__main__":
    wrong = Image(Path(sys.argv[1])).problems()
    sys.exit("\n".join(wrong) or 0)

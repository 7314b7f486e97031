"""Leaves out of ICU's data what weir never asks for: all languages but English, and the dictionaries that find words in
text without blanks. ICU falls back to its root in their place. Called by script/package.d/image.d/libraries.

    icu.py WHOLE SMALL

The format is that of ICU's common data (udata.h, ucmndata.h): a header, a table of offsets to names and to items, sorted
by name, the names, and the items.
"""

import re
import struct
import sys
from pathlib import Path

ALIGNMENT = 16
LANGUAGE = re.compile(r"([a-z]{2,3})(_[A-Za-z0-9]+)*\.res")

Items = list[tuple[bytes, bytes]]
"""Names and bytes, sorted by name."""


def is_needed(name: str) -> bool:
    """
    >>> [is_needed(name) for name in ["icudt76l/coll/zh.res", "icudt76l/fr_CA.res", "icudt76l/brkitr/cjdict.dict"]]
    [False, False, False]
    >>> [is_needed(name) for name in ["icudt76l/en_US.res", "icudt76l/zone/root.res", "icudt76l/uts46.nrm", "icudt76l/pool.res"]]
    [True, True, True, True]
    """
    file = name.rpartition("/")[2]
    language = LANGUAGE.fullmatch(file)
    return not file.endswith(".dict") and (language is None or language[1] == "en")


def read(data: bytes) -> tuple[bytes, Items]:
    """The header and the items."""
    (length,) = struct.unpack_from("<H", data)
    if data[2:4] != b"\xda\x27" or data[12:16] != b"CmnD":
        raise ValueError("not ICU's common data")
    header, body = data[:length], data[length:]
    (count,) = struct.unpack_from("<I", body)
    table = [struct.unpack_from("<II", body, 4 + 8 * index) for index in range(count)]
    ends = [start for _, start in table[1:]] + [len(body)]
    return header, [
        (body[name : body.index(b"\0", name)], body[start:end]) for (name, start), end in zip(table, ends, strict=True)
    ]


def write(header: bytes, items: Items) -> bytes:
    """
    >>> header = struct.pack("<HBB8x4s", 16, 0xDA, 0x27, b"CmnD")
    >>> read(write(header, [(b"a/b", bytes(range(16))), (b"a/c", bytes(32))])) == (
    ...     header, [(b"a/b", bytes(range(16))), (b"a/c", bytes(32))])
    True
    """
    names = b"".join(name + b"\0" for name, _ in items)
    first = 4 + 8 * len(items)
    padded = [item + bytes(-len(item) % ALIGNMENT) for _, item in items]
    gap = -(first + len(names)) % ALIGNMENT
    name, start, table = first, first + len(names) + gap, b""
    for (known, _), item in zip(items, padded, strict=True):
        table += struct.pack("<II", name, start)
        name += len(known) + 1
        start += len(item)
    return header + struct.pack("<I", len(items)) + table + names + bytes(gap) + b"".join(padded)


def main(whole: str, small: str) -> None:
    header, items = read(Path(whole).read_bytes())
    Path(small).write_bytes(write(header, [item for item in items if is_needed(item[0].decode())]))


if __name__ == "__main__":
    main(*sys.argv[1:])

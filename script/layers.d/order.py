"""The order of a module's folders, as ARCHITECTURE.md has it."""

import re
from dataclasses import dataclass

from tokens import Unreadable

HEADING = re.compile(r"^#+ Layers inside `?(\w+)`?$")
ROW = re.compile(r"^\| `(\w+)`( \(core\))? \| (\S.*\S) \|$")
LARGEST_CORE = 4


@dataclass
class Order:
    """Folders from the top to the bottom. The core's stand together and count as one layer."""

    folders: list[str]
    core: set[str]

    def allows(self, folder: str, used: str) -> bool:
        """Whether a folder may use another."""
        if folder in self.core and used in self.core:
            return True
        return self.folders.index(folder) <= self.folders.index(used)


def orders(page: str) -> dict[str, Order]:
    """The orders on a page, by module.

    >>> page = '''
    ... ### Layers inside Weir
    ... A folder uses those below it.
    ...
    ... | folder | what it holds |
    ... |---|---|
    ... | `Uploads` | requests with a body |
    ... | `Session` (core) | sessions |
    ... | `Request` (core) | requests |
    ... | `HTTP` | methods and fields |
    ... '''
    >>> order = orders(page)["Weir"]
    >>> order.folders, sorted(order.core)
    (['Uploads', 'Session', 'Request', 'HTTP'], ['Request', 'Session'])
    >>> order.allows("Request", "Session"), order.allows("Uploads", "HTTP"), order.allows("HTTP", "Request")
    (True, True, False)
    >>> orders(page.replace("| `HTTP` |", "| HTTP |"))
    Traceback (most recent call last):
    tokens.Unreadable: ARCHITECTURE.md: Layers inside Weir: no row of a folder: | HTTP | methods and fields |
    """
    found: dict[str, Order] = {}
    lines = iter(page.splitlines())
    for line in lines:
        if not (heading := HEADING.match(line)):
            continue
        module = heading[1]
        rows = []
        for row in lines:
            if row.startswith("|"):
                rows.append(row)
            elif rows or row.startswith("#"):
                break
        try:
            found[module] = order(rows[2:])
        except Unreadable as problem:
            raise Unreadable(f"ARCHITECTURE.md: Layers inside {module}: {problem}") from None
    return found


def order(rows: list[str]) -> Order:
    folders: list[str] = []
    core: list[str] = []
    for row in rows:
        if not (match := ROW.match(row)):
            raise Unreadable(f"no row of a folder: {row}")
        if match[1] in folders:
            raise Unreadable(f"{match[1]} is listed twice")
        if match[2] and core and folders[-1] != core[-1]:
            raise Unreadable(f"{match[1]} is not beside the core's other folders")
        folders.append(match[1])
        core += [match[1]] if match[2] else []
    if not folders:
        raise Unreadable("there is no table of folders")
    if len(core) > LARGEST_CORE:
        raise Unreadable(f"the core has {len(core)} folders; at most {LARGEST_CORE} may name each other")
    return Order(folders, set(core))

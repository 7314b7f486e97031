"""The public symbols of the libraries, from the compiler's symbol graphs."""

import json
from pathlib import Path

from tables import Table, Unreadable, entry


def symbols(graphs: Path, modules: list[str]) -> Table:
    """Reads the graphs of each module, which are in a directory of its name."""
    found: Table = set()
    for module in modules:
        files = sorted((graphs / module).glob("*.symbols.json"))
        if not files:
            raise Unreadable(f"{module}: there is no graph of its symbols")
        for file in files:
            graph = json.loads(file.read_text(encoding="utf-8"))
            found |= {symbol_entry(module, symbol) for symbol in graph["symbols"]}
    return found


def symbol_entry(module: str, symbol: dict) -> str:
    """
    >>> symbol_entry("Weir", {"pathComponents": ["Session", "cancel(_:)"], "declarationFragments": [
    ...     {"spelling": "func cancel(_ task:\\n "}, {"spelling": "Int)"}]})
    'Session.cancel(_:)\\tWeir: func cancel(_ task: Int)'
    """
    declaration = " ".join("".join(part["spelling"] for part in symbol["declarationFragments"]).split())
    # For users a constant is a property that can't be set.
    if declaration.startswith("let "):
        declaration = f"var {declaration.removeprefix('let ')} {{ get }}"
    return entry(".".join(symbol["pathComponents"]), f"{module}: {declaration}")

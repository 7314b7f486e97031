"""The surfaces that documents, rules, the program's help, the status' schema and the compiler's graphs of symbols show, as tables.

An entry is a line: a name of one or two words, a tab, and its details, which may be empty. A change of the details is a change of the
entry.
"""

import json
import re
from pathlib import Path
from typing import Callable, Iterator

Table = set[str]

# The keys of each document's tables, in order: the words before the names that the document shows.
KEYS_BEGIN_WITH = {
    "docs/configuration.md": [*[""] * 8, "upstreams.", "credentials."],
    "docs/access.md": ["tls_server_config."],
    "docs/probe.md": ["", "http."],
}
# The letters that stand for labels in docs/metrics.md.
SHORT_LABELS = {"D": ["server_address", "server_port"], "M": ["http_request_method"]}

# The metrics of the paragraphs about label values that name none.
UNNAMED = {"Outcomes": "weir_requests_total", "Phases": "weir_phase_duration_seconds"}


class Unreadable(Exception):
    """A source from which a table can't be read."""


def entry(name: str, details: str = "") -> str:
    return f"{name}\t{details}"


def cells(row: str) -> list[str]:
    """
    >>> cells("| `a` | text | `x|y` | |")
    ['`a`', 'text', '`x|y`', '']
    """
    return [cell.strip() for cell in re.split(r"(?:^|(?<=\s))\|(?=\s|$)", row.strip())][1:-1]


def code(text: str) -> list[str]:
    """
    >>> code("`method`, `headers` of probes")
    ['method', 'headers']
    """
    return re.findall(r"`([^`]+)`", text)


def tables(text: str, first: str) -> Iterator[list[list[str]]]:
    """Yields the rows of each table whose first column's title begins with a word.

    >>> list(tables("| key | type |\\n|---|---|\\n| `a` | text |\\n\\n| flag |\\n|---|\\n| `b` |", "key"))
    [[['`a`', 'text']]]
    """
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        rows = [cells(row) for row in table.splitlines()]
        if rows[0] and rows[0][0].split(" ")[0] == first:
            yield rows[2:]


def metrics(root: Path) -> Table:
    text = (root / "docs/metrics.md").read_text(encoding="utf-8")
    found: Table = set()
    rows = [row for table in tables(text, "metric") for row in table if len(row) == 5]
    for name, kind, labels, *_ in rows:
        words = [SHORT_LABELS.get(word, [word.strip("`")]) for word in labels.split()]
        found.add(entry(name.strip("`"), " ".join([kind, *sorted(sum(words, []))])))
    found |= {entry(f"{name} {value}") for name, value in values(text, {row[0].strip("`") for row in rows})}
    return found


def values(text: str, known: set[str]) -> Iterator[tuple[str, str]]:
    """Yields the label values that paragraphs such as "**Reasons** of `metric`: `a` (why), `b`." list.

    >>> text = "**Reasons** of `m_total`: `a` (not `x`),\\n`b` (a [b.md](b.md)). Both are `c`.\\n\\n**States** of `m`. It is `d`."
    >>> list(values(text, {"m_total", "m"}))
    [('m_total', 'a'), ('m_total', 'b')]
    """
    for title, metric, listed in re.findall(r"^\*\*([A-Z][a-z]+)\*\*(?: of `(\w+)`)?:((?:.+\n?)+)", text, re.MULTILINE):
        metric = metric or UNNAMED.get(title, f"of {title}")
        if metric not in known:
            raise Unreadable(f"docs/metrics.md: there is no metric {metric}, whose values it lists")
        plain = listed
        while (without := re.sub(r"\([^()]*\)", "", plain)) != plain:
            plain = without
        for value in code(re.split(r"\.\s", plain)[0]):
            yield metric, value


def keys(root: Path) -> Table:
    found: Table = set()
    for document, prefixes in KEYS_BEGIN_WITH.items():
        listed = list(tables((root / document).read_text(encoding="utf-8"), "key"))
        if len(listed) > len(prefixes):
            raise Unreadable(f"{document}: has another table of keys; say in {Path(__file__).name} how they begin")
        for prefix, table in zip(prefixes, listed):
            for row in table:
                kind = row[1] if len(row) == 4 else ""
                details = " ".join(filter(None, [kind, default(row[-2])]))
                found |= {entry(prefix + name, details) for name in code(row[0])}
    return found


def default(cell: str) -> str:
    """Returns a default that is a value, not words that might be put in another way.

    >>> default("`10s`"), default("required"), default("as below, or `8`")
    ('= 10s', 'required', '')
    """
    if cell == "required":
        return cell
    return f"= {' '.join(code(cell))}" if re.fullmatch(r"`[^`]+`(, `[^`]+`)*", cell) else ""


def flags(help_of: Callable[[str], str]) -> Table:
    """Reads the commands that the help of serve names, and the flags of each.

    >>> texts = {"serve": "  weir [serve]  forward\\n  weir help COMMAND  explain\\n\\n  --n=N  Number.\\n"}
    >>> sorted(flags(texts.__getitem__))
    ['help\\t', 'serve\\t', 'serve --n\\tN']
    """
    commands = set(re.findall(r"^  weir \[?([a-z]+)\]?", help_of("serve"), re.MULTILINE))
    # `weir help` prints the help of others.
    texts = {command: help_of(command) for command in commands - {"help"}}
    return {entry(command) for command in commands} | {
        entry(f"{command} {flag}", value) for command, text in texts.items() for flag, value in listed_flags(text)
    }


def listed_flags(text: str) -> list[tuple[str, str]]:
    """
    >>> listed_flags("Usage:\\n  weir --version\\n\\n  --header='NAME: VALUE'  A field.\\n  --help  This text.\\n")
    [('--header', "'NAME: VALUE'"), ('--help', '')]
    """
    return re.findall(r"^  (--[a-z][a-z.-]*)(?:=(.+?))?(?:  |$)", text, re.MULTILINE)


def rules(root: Path) -> Table:
    texts = [file.read_text(encoding="utf-8") for file in sorted((root / "deploy/prometheus/rules").glob("*.yml"))]
    return {rule for text in texts for rule in listed_rules(text)}


def listed_rules(text: str) -> Iterator[str]:
    """
    >>> list(listed_rules("- record: a:b\\n  expr: c\\n- alert: Down\\n  expr: d\\n  labels:\\n    severity: page\\n"))
    ['a:b\\trecord', 'Down\\talert page']
    """
    for kind, name, rest in re.findall(r"- (record|alert): (\S+)\n((?:(?!.*- (?:record|alert):).*\n)*)", text):
        severity = re.search(r"^ +severity: (\w+)", rest, re.MULTILINE)
        yield entry(name, " ".join([kind, *(severity.groups() if severity else [])]))


def status(root: Path) -> Table:
    return members(json.loads((root / "docs/status.schema.json").read_text(encoding="utf-8")))


def members(schema: dict) -> Table:
    """
    >>> sorted(members({"properties": {"now": {"type": "string"}}, "$defs": {"row": {"properties": {"n": {"type": ["null", "integer"]}}}}}))
    ['/status.json now\\tstring', '/status.json row.n\\tnull integer']
    """
    parts = {"": schema, **{f"{name}.": part for name, part in schema.get("$defs", {}).items()}}
    found: Table = set()
    for prefix, part in parts.items():
        for name, member in part.get("properties", {}).items():
            kinds = member.get("type", "")
            found.add(entry(f"/status.json {prefix}{name}", " ".join([kinds] if isinstance(kinds, str) else kinds)))
    return found


def symbols(graphs: Path, modules: list[str]) -> Table:
    """The public symbols. Reads the graphs of each module, which are in a directory of its name."""
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

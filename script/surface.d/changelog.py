"""CHANGELOG.md's sections, and whether the code that their lines name has the changes between the tables of two versions."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Iterable

from tables import code

UNRELEASED = "Unreleased"
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
Notes = dict[str, list[str]]
"""The lines of a section by their headings."""


def spans(notes: Notes, headings: Iterable[str]) -> list[set[str]]:
    """The code between backticks of each line under some headings."""
    return [set(code(line)) for heading in headings for line in notes.get(heading, [])]


def section(text: str, title: str) -> str | None:
    """Returns the text of a section of the second level, without its title; None if there is none.

    >>> section("# C\\n\\n## Unreleased\\n\\na\\n\\n## 0.2.0 (2026-11-24)\\n\\nb\\n", "0.2.0"), section("# C\\n", "0.2.0")
    ('b', None)
    """
    found = re.search(rf"^## {re.escape(title)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else None


def notes(text: str) -> Notes:
    """Reads a section's lines, each of which may be broken into several.

    >>> notes("### Added\\n\\n- `a`, which is\\n  long\\n- b\\n\\n### Fixed\\n\\n- c")
    {'Added': ['`a`, which is long', 'b'], 'Fixed': ['c']}
    """
    lines: Notes = {}
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        bullets = re.split(r"^- ", body, flags=re.MULTILINE)[1:]
        lines[heading.strip()] = [" ".join(bullet.split()) for bullet in bullets]
    return lines


def released(text: str, version: str, date: str) -> str:
    """Gives the lines of Unreleased to a version, and leaves Unreleased empty.

    >>> print(released("# C\\n\\n## Unreleased\\n\\n- a\\n", "0.3.0", "2026-12-01"), end="")
    # C
    <BLANKLINE>
    ## Unreleased
    <BLANKLINE>
    ## 0.3.0 (2026-12-01)
    <BLANKLINE>
    - a
    """
    return text.replace(f"## {UNRELEASED}\n", f"## {UNRELEASED}\n\n## {version} ({date})\n", 1)


@dataclass(frozen=True, order=True)
class Change:
    """A change of all entries of a name."""

    kind: str
    name: str


def changes(last: set[str], present: set[str]) -> list[Change]:
    """Compares two tables by the names of their entries. One entry more of a name, which only functions may have, is an addition.

    >>> [(change.kind, change.name) for change in changes({"a\\tgauge", "b\\t", "c\\t"}, {"a\\tcounter", "c\\t", "d\\t"})]
    [('added', 'd'), ('changed', 'a'), ('removed', 'b')]
    >>> [(change.kind, change.name) for change in changes({"f()\\t1", "g()\\t1", "g()\\t2"}, {"f()\\t1", "f()\\t2", "g()\\t2"})]
    [('added', 'f()'), ('changed', 'g()')]
    """
    before, now = by_name(last), by_name(present)
    found = [Change(REMOVED, name) for name in before.keys() - now.keys()]
    found += [Change(ADDED, name) for name in now.keys() - before.keys()]
    for name in before.keys() & now.keys():
        if before[name] != now[name]:
            found.append(Change(ADDED if before[name] < now[name] else CHANGED, name))
    return sorted(found)


def by_name(table: set[str]) -> dict[str, set[str]]:
    grouped: dict[str, set[str]] = {}
    for line in table:
        name, _, details = line.partition("\t")
        grouped.setdefault(name, set()).add(details)
    return grouped


def unnamed(last: set[str], present: set[str], notes: Notes) -> list[str]:
    """Says for each change between two tables that has no line what is missing.

    A metric, key or flag that is gone needs its exact name under Breaking:

    >>> gone = {"weir_x_total\\tcounter", "retry.limit\\tinteger", "probe --fail\\t", "Session\\tclass"}
    >>> len(unnamed(gone, set(), {"Breaking": ["`weir_*`, `retry`, `--fail`, Session"], "Changed": ["`weir_x_total`"]}))
    4
    >>> unnamed(gone, set(), {"Breaking": ["`weir_x_total`", "`retry.limit`, `weir probe --fail`, `Session`"]})
    []

    So does a symbol, unless its type is gone too, or another one of its base name is new; then Changed will do:

    >>> gone = {"Session\\t", "Session.cancel(_:)\\t", "Store.add(_:)\\t"}
    >>> notes = {"Breaking": ["`Session`"], "Changed": ["`Store.add(_:)`, now with `add(_:at:)`"]}
    >>> unnamed(gone, set(), notes)
    ['Store.add(_:) is removed: write `Store.add(_:)` under Breaking']
    >>> unnamed(gone, {"Store.add(_:at:)\\t"}, notes)
    []

    An entry that has changed, as by a label more:

    >>> unnamed({"weir_y_total\\tcounter a"}, {"weir_y_total\\tcounter a b"}, {"Added": ["`weir_y_total`"]})
    ['weir_y_total is changed: write `weir_y_total` under Breaking or Changed']

    A new one may be named by its last part, its family, or its section or type if that is new too:

    >>> new = {"retry.limit\\t", "hedge\\t", "hedge.after\\t", "Session.cancel(_:)\\t", "weir_dns_total\\t"}
    >>> unnamed({"retry\\t"}, new | {"retry\\t"}, {"Added": ["`limit`, `hedge`, `cancel` and `weir_dns_*`"]})
    []
    >>> len(unnamed({"retry\\t"}, new | {"retry\\t"}, {"Added": ["`retry`, hedge, `session` and `weir_d`"]}))
    4
    """
    all_changes, old = changes(last, present), by_name(last).keys()
    # A whole type or section needs one line.
    whole = {(change.kind, change.name) for change in all_changes if change.kind != CHANGED}
    new = {base_name(change.name) for change in all_changes if change.kind == ADDED}
    named = set().union(*spans(notes, notes))
    problems = []
    for change in all_changes:
        if any((change.kind, parent) in whole for parent in parents(change.name)):
            continue
        if change.kind == ADDED:
            candidates = [change.name, *(parent for parent in parents(change.name) if parent not in old)]
            if not any(names_addition(span, name) for span in named for name in candidates):
                problems.append(f"{change.name} is new: name it under Added")
            continue
        replaced = "(" in change.name and base_name(change.name) in new
        headings = ["Breaking", "Changed"] if change.kind == CHANGED or replaced else ["Breaking"]
        if not any(names_exactly(of_line, change.name) for of_line in spans(notes, headings)):
            problems.append(f"{change.name} is {change.kind}: write `{change.name}` under {' or '.join(headings)}")
    return problems


def components(name: str) -> list[str]:
    """
    >>> components("Session.request(_:to:)"), components("a.b"), components("...(_:_:)")
    (['Session', 'request(_:to:)'], ['a', 'b'], ['...(_:_:)'])
    """
    return re.findall(r"\.{2,}[^.]*|[^.]*\([^)]*\)|[^.]+", name)


def parents(name: str) -> list[str]:
    """The sections or types of an entry; of a label's value the metric, of a flag the command.

    >>> parents("a.b.c"), parents("weir_x_total timeout"), parents("probe --fail")
    (['a', 'a.b'], ['weir_x_total'], ['probe'])
    """
    first, *rest = name.split()
    if rest:
        return [first]
    parts = components(name)
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def base_name(name: str) -> str:
    """
    >>> base_name("Session.request(_:to:)")
    'Session.request'
    """
    return re.sub(r"\([^)]*\)$", "", name)


def names_exactly(spans: set[str], name: str) -> bool:
    """Whether the code of a line names an entry. A function may stand without its type, a flag of serve without its command.

    >>> names_exactly({"weir probe --fail=X"}, "probe --fail"), names_exactly({"--fail"}, "probe --fail")
    (True, False)
    >>> names_exactly({"request(_:to:)"}, "Session.request(_:to:)"), names_exactly({"limit"}, "Rules.limit")
    (True, False)
    >>> names_exactly({"weir_x_total", "timeout"}, "weir_x_total timeout"), names_exactly({"timeout"}, "weir_x_total timeout")
    (True, False)
    """
    words = set().union(*(plain_words(span) for span in spans))
    last = components(name)[-1]
    return name in spans or ("(" in last and last in spans) or all(word in words for word in name.split() if word != "serve")


def names_addition(span: str, name: str) -> bool:
    """Whether code names an entry, the last parts of its name, or its family.

    >>> names_addition("match.clients", "listeners.match.clients"), names_addition("wait", "OverloadSettings.wait")
    (True, True)
    >>> names_addition(".requestRejected(.overloaded)", "Rejection.overloaded(reason:)"), names_addition("upgrade: [h2]", "upgrade")
    (True, True)
    >>> names_addition("--module", "probe --module"), names_addition("a", "ab"), names_addition("a_*", "a_b")
    (True, False, True)
    """
    last_word = name.split()[-1]
    parts = components(last_word)
    forms = [".".join(parts[begin:]) for begin in range(len(parts))]
    words = plain_words(span) | set(re.findall(r"\(\.(\w+)\)", span))
    if words & {*forms, *map(base_name, forms)}:
        return True
    return any("*" in word and len(word) > 2 and fnmatchcase(name.split()[0], word) for word in words)


def plain_words(span: str) -> set[str]:
    """
    >>> sorted(plain_words("weir probe --timeout=1s")), sorted(plain_words("upgrade: [h2]"))
    (['--timeout', 'probe', 'weir', 'weir probe --timeout=1s'], ['[h2]', 'upgrade', 'upgrade: [h2]'])
    """
    return {word.split("=")[0].rstrip(":").lstrip(".") for word in span.split()} | {span}

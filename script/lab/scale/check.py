"""Holds docs/scale.md against the rules, the formula and promtool."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.rules import RULES
from lab.scale import formula
from lab.scale.expressions import keeping, shipped, written

PAGE = Path("docs/scale.md")


def snippets(text: str) -> list[str]:
    """
    >>> snippets('a\\n```yaml\\nb: c\\n```\\n```sh\\nd\\n```\\n')
    ['b: c\\n']
    """
    return re.findall(r"(?ms)^```yaml\n(.*?)^```$", text)


def problems(text: str) -> Iterator[str]:
    for instances, destinations in formula.INSTANCES:
        if (row := formula.row(instances, destinations)) not in text:
            yield f"a computed row is missing or differs; it has to be\n{row}"
    if (keep := written(keeping(shipped()))) not in text:
        yield f"the list of series that the rules read has to be\n{keep}"
    found = snippets(text)
    if not found:
        yield "it has no snippets"
    for number, snippet in enumerate(found, 1):
        if refused := refusal(snippet):
            yield f"promtool refuses snippet {number}:\n{refused}\n{snippet}"


def refusal(snippet: str) -> str:
    """The objections of promtool; empty if it takes it. A snippet is a whole file: of rules, or a configuration."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "snippet.yml")
        file.write_text(snippet)
        # Where a configuration names the shipped rules.
        Path(directory, "rules").symlink_to(RULES.absolute())
        kind = "rules" if re.search(r"(?m)^groups:", snippet) else "config"
        done = subprocess.run(["promtool", "check", kind, file], capture_output=True, text=True, check=False)
    return done.stderr + done.stdout if done.returncode else ""


def main() -> int:
    found = list(problems(PAGE.read_text()))
    for problem in found:
        print(f"{PAGE}: {problem}", file=sys.stderr)
    return 1 if found else 0

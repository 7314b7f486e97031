"""The parts of deploy/kubernetes that are made of others. script/kubernetes has them written: generated.py VERSION."""

import re
import sys
import textwrap
from pathlib import Path

KUBERNETES = Path("deploy/kubernetes")
RULES = Path("deploy/prometheus/rules")

HEAD = """\
# Made by script/kubernetes of deploy/prometheus/rules: change those files, and run it.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: weir
spec:
  groups:
"""


def contents(version: str) -> dict[Path, str]:
    """The files that are made, or partly made, with what they should hold."""
    kustomization = KUBERNETES / "base/kustomization.yml"
    rules = [file.read_text(encoding="utf-8") for file in rule_files()]
    return {
        KUBERNETES / "base/prometheusrule.yml": prometheus_rule(rules),
        kustomization: tagged(kustomization.read_text(encoding="utf-8"), version),
    }


def rule_files() -> list[Path]:
    """The files of rules. Those that are recorded come first, as the alerts read them."""
    return sorted(RULES.glob("*.yml"), reverse=True)


def prometheus_rule(files: list[str]) -> str:
    """The groups of all files as one object. Their lines stay as they are, two columns further to the right.

    >>> print(prometheus_rule(["# Recorded.\\ngroups:\\n  # One.\\n  - name: a\\n    rules: []\\n\\n", "groups:\\n  - name: b\\n"])
    ...   .removeprefix(HEAD), end="")
        # One.
        - name: a
          rules: []
    <BLANKLINE>
        - name: b
    >>> prometheus_rule(["rules: []"])
    Traceback (most recent call last):
    ValueError: a file of rules has no line "groups:"
    """
    return HEAD + "\n".join(textwrap.indent(groups(file), "  ") for file in files)


def groups(file: str) -> str:
    """The lines below `groups:`, which is the last key of each file."""
    _, key, lines = ("\n" + file).partition("\ngroups:\n")
    if not key:
        raise ValueError('a file of rules has no line "groups:"')
    return lines.strip("\n") + "\n"


def tagged(kustomization: str, tag: str) -> str:
    """A kustomization with the tag of its only image.

    >>> tagged("images:\\n  - name: weir\\n    newTag: 0.1.0\\n", "0.2.0")
    'images:\\n  - name: weir\\n    newTag: 0.2.0\\n'
    """
    text, count = re.subn(r"(?m)^(\s*newTag: ).*$", rf"\g<1>{tag}", kustomization)
    if count != 1:
        raise ValueError(f"the kustomization has {count} lines with newTag")
    return text


def differing(version: str) -> dict[Path, str]:
    """The files that are not what their sources make of them, with what they should hold."""
    return {file: text for file, text in contents(version).items()
            if not file.exists() or file.read_text(encoding="utf-8") != text}


if __name__ == "__main__":
    for file, text in differing(sys.argv[1]).items():
        file.write_text(text, encoding="utf-8")
        print(f"{file} is written")

"""The overlays that deploy/kubernetes/README.md shows."""

import os
import re
import shutil
import tempfile
from pathlib import Path

from generated import KUBERNETES
from objects import Object, built

README = KUBERNETES / "README.md"


def examples(readme: str) -> list[str]:
    """The first example, and each later one as an addition to it.

    >>> examples("Text.\\n```yaml\\na: 1\\n```\\nMore.\\n```sh\\nls\\n```\\n```yaml\\nb: 2\\n```\\n")
    ['a: 1\\n', 'a: 1\\nb: 2\\n']
    """
    first, *others = re.findall(r"(?ms)^```yaml\n(.*?)^```$", readme)
    return [first, *(first + other for other in others)]


def built_examples(kubectl: Path) -> list[list[Object]]:
    """The objects of each example, built in a folder of its own beside a weir.yml."""
    return [built_example(kubectl, text) for text in examples(README.read_text(encoding="utf-8"))]


def built_example(kubectl: Path, text: str) -> list[Object]:
    with tempfile.TemporaryDirectory(dir=".build") as directory:
        small = os.path.relpath(KUBERNETES / "overlays/small", Path(directory).resolve())
        shutil.copy(KUBERNETES / "base/weir.yml", directory)
        (Path(directory) / "kustomization.yml").write_text(text.replace("../small", small), encoding="utf-8")
        return built(kubectl, Path(directory))

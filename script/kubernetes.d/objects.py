"""The objects of an overlay, and of those that deploy/kubernetes/README.md shows; and how to look into them."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import yaml

from generated import KUBERNETES

Object = dict[str, Any]
README = KUBERNETES / "README.md"


def built(kubectl: Path, overlay: Path) -> list[Object]:
    """The objects that `kubectl apply -k` would send."""
    made = subprocess.run([kubectl, "kustomize", overlay], capture_output=True, text=True, timeout=60)
    if made.returncode or made.stderr:
        raise ValueError(f"kubectl kustomize says: {made.stderr.strip()}")
    return list(yaml.safe_load_all(made.stdout))


def the(kind: str, objects: list[Object]) -> Object:
    """The one object of a kind.

    >>> the("Service", [{"kind": "Service", "spec": {}}, {"kind": "Deployment"}])
    {'kind': 'Service', 'spec': {}}
    >>> the("Service", [])
    Traceback (most recent call last):
    ValueError: there is no Service, or more than one
    """
    found = [one for one in objects if one["kind"] == kind]
    if len(found) != 1:
        raise ValueError(f"there is no {kind}, or more than one")
    return found[0]


def template(objects: list[Object]) -> Object:
    """The template of the Deployment's pods."""
    return the("Deployment", objects)["spec"]["template"]


def container(objects: list[Object]) -> Object:
    """The pods' only container."""
    [only] = template(objects)["spec"]["containers"]
    return only


def named(one: Object) -> str:
    return f"{one['kind']}/{one['metadata']['name']}"


def examples(readme: str) -> list[str]:
    """The first example, and each later one as an addition to it.

    >>> examples("Text.\\n```yaml\\na: 1\\n```\\nMore.\\n```sh\\nls\\n```\\n```yaml\\nb: 2\\n```\\n")
    ['a: 1\\n', 'a: 1\\nb: 2\\n']
    """
    first, *others = re.findall(r"(?ms)^```yaml\n(.*?)^```$", readme)
    return [first, *(first + other for other in others)]


def built_examples(kubectl: Path) -> list[list[Object]]:
    """The objects of each example, built in a folder beside a weir.yml."""
    with tempfile.TemporaryDirectory(dir=".build") as directory:
        small = os.path.relpath(KUBERNETES / "overlays/small", Path(directory).resolve())
        shutil.copy(KUBERNETES / "base/weir.yml", directory)
        found = []
        for text in examples(README.read_text(encoding="utf-8")):
            (Path(directory) / "kustomization.yml").write_text(text.replace("../small", small), encoding="utf-8")
            found.append(built(kubectl, Path(directory)))
        return found

"""The objects of an overlay, and how to look into them."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]


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


def arguments(objects: list[Object]) -> dict[str, str]:
    """The container's flags and their values."""
    return dict(argument.partition("=")[::2] for argument in container(objects).get("args", []))


def named(one: Object) -> str:
    return f"{one['kind']}/{one['metadata']['name']}"

"""The shape of objects: those of Kubernetes by kubernetes-validate, those of the Prometheus operator by schemas of ours."""

import functools
import json

import jsonschema
import kubernetes_validate

from generated import KUBERNETES
from objects import Object, named

OPERATOR = "monitoring.coreos.com/"


def versions() -> tuple[str, str]:
    """The oldest and the newest version of Kubernetes that is known."""
    known = kubernetes_validate.utils.all_versions()
    return known[0], known[-1]


def problems(objects: list[Object], versions: tuple[str, ...]) -> list[str]:
    found = []
    for one in objects:
        if one["apiVersion"].startswith(OPERATOR):
            found += [f"{named(one)}: {problem}" for problem in operator_problems(one)]
        else:
            for version in versions:
                problems = core_problems(json.dumps(one), version)
                found += [f"{named(one)}, Kubernetes {version}: {problem}" for problem in problems]
    return found


# Most objects come again, in the other overlay and beside each mistake; and each time all schemas would be read.
@functools.cache
def core_problems(one: str, version: str) -> list[str]:
    try:
        kubernetes_validate.validate(json.loads(one), version, strict=True)
        return []
    except kubernetes_validate.ValidationError as problem:
        return [told(problem)]
    except kubernetes_validate.SchemaNotFoundError as problem:
        return [problem.message]


def operator_problems(one: Object) -> list[str]:
    file = KUBERNETES / "schemas" / f"{one['kind'].lower()}.json"
    if not file.exists():
        return [f"there is no {file}"]
    schema = json.loads(file.read_text(encoding="utf-8"))
    return [told(problem) for problem in jsonschema.Draft202012Validator(schema).iter_errors(one)]


def told(problem: jsonschema.ValidationError) -> str:
    return f"{'.'.join(map(str, problem.path))}: {problem.message}"

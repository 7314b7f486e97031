"""Checks deploy/kubernetes without a cluster. Called by script/kubernetes --check.

    check.py KUBECTL PROGRAM VERSION

The shape of objects is that of Kubernetes by kubernetes-validate, and that of the Prometheus operator by schemas of ours.
"""

import copy
import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import kubernetes_validate
import yaml

import requirements
from generated import KUBERNETES, differing, rule_files
from objects import README, Object, built, built_examples, container, named, template, the

OPERATOR = "monitoring.coreos.com/"
Mistake = Callable[[list[Object]], object]


def main() -> int:
    kubectl, program = Path(sys.argv[1]), requirements.Program.at(Path(sys.argv[2]), sys.argv[3])
    groups = [group for file in rule_files() for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]]
    known = kubernetes_validate.utils.all_versions()
    oldest, newest = known[0], known[-1]
    found = [f"{file}: is not what its sources make of it: run script/kubernetes" for file in differing(program.version)]

    def problems(objects: list[Object], versions: tuple[str, ...]) -> list[str]:
        # The other checks read what has its shape.
        if wrong := shape_problems(objects, versions):
            return wrong
        wrong = requirements.problems(objects, program)
        # Also after kustomize has written them anew.
        if the("PrometheusRule", objects)["spec"]["groups"] != groups:
            wrong.append("PrometheusRule: its groups are not those of deploy/prometheus/rules")
        return wrong

    for overlay in sorted((KUBERNETES / "overlays").iterdir()):
        objects = built(kubectl, overlay)
        found += [f"{overlay}: {problem}" for problem in problems(objects, (oldest, newest))]
        print(f"{overlay}: {', '.join(map(named, objects))}")
    for number, objects in enumerate(built_examples(kubectl), start=1):
        found += [f"{README}, example {number}: {problem}" for problem in shape_problems(objects, (oldest, newest))]
    if not found:
        # A check that finds nothing may look at nothing.
        right = built(kubectl, KUBERNETES / "overlays/small")
        for name, mistake in MISTAKES.items():
            mistake(objects := copy.deepcopy(right))
            if not problems(objects, (newest,)):
                found.append(f"the check does not find this mistake: {name}")
        print(f"Kubernetes {oldest} and {newest}; {len(MISTAKES) - len(found)} of {len(MISTAKES)} mistakes are found")
    for problem in found:
        print(f"kubernetes: {problem}", file=sys.stderr)
    return 1 if found else 0


def shape_problems(objects: list[Object], versions: tuple[str, ...]) -> list[str]:
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


def flag(old: str, new: str) -> Mistake:
    def change(objects: list[Object]) -> None:
        only = container(objects)
        only["args"] = [argument.replace(old, new) for argument in only["args"]]

    return change


def text(old: str, new: str) -> Mistake:
    def change(objects: list[Object]) -> None:
        data = the("ConfigMap", objects)["data"]
        data["weir.yml"] = data["weir.yml"].replace(old, new)

    return change


def rule(objects: list[Object]) -> Object:
    return the("PrometheusRule", objects)["spec"]["groups"][0]["rules"][0]


# Mistakes that the check has to find.
MISTAKES: dict[str, Mistake] = {
    "a misspelt field": lambda objects: template(objects)["spec"].update(terminationGracePeriod=45),
    "a number as text": lambda objects: the("PodDisruptionBudget", objects)["spec"].update(selector="weir"),
    "a field that the operator does not know": lambda objects: the("PodMonitor", objects)["spec"].update(endpoints=[]),
    "a rule with a duration of no unit": lambda objects: rule(objects).update({"for": "5"}),
    "another expression": lambda objects: rule(objects).update(expr="vector(1)"),
    "root": lambda objects: template(objects)["spec"]["securityContext"].update(runAsNonRoot=False),
    "capabilities": lambda objects: container(objects)["securityContext"]["capabilities"].update(drop=[]),
    "another label": lambda objects: the("Service", objects)["spec"]["selector"].update({"app.kubernetes.io/name": "wier"}),
    "another port": lambda objects: the("PodMonitor", objects)["spec"]["podMetricsEndpoints"][0].update(port="web"),
    "another version": lambda objects: container(objects).update(image="weir:latest"),
    "replicas": lambda objects: the("Deployment", objects)["spec"].update(replicas=3),
    "a short grace": lambda objects: template(objects)["spec"].update(terminationGracePeriodSeconds=40),
    "an unknown flag": flag("--log.format", "--log.formats"),
    "more workers than cores": flag("--gateway.workers=", "--gateway.workers=1"),
    "an unknown key": text("stripPrefix", "stripPrefixes"),
    "another listener": text(":8080\"", ":8081\""),
}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as problem:
        sys.exit(f"kubernetes: {problem}")

"""Mistakes that the check has to find: each is made in a copy of an overlay's objects."""

import copy
from collections.abc import Callable

from objects import Object, container, template, the

Mistake = Callable[[list[Object]], object]


def made(objects: list[Object], mistake: Mistake) -> list[Object]:
    """A copy of the objects with a mistake."""
    changed = copy.deepcopy(objects)
    mistake(changed)
    return changed


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

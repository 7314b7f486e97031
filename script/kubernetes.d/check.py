"""Checks deploy/kubernetes without a cluster. Called by script/kubernetes --check.

    check.py KUBECTL PROGRAM
"""

import sys
from pathlib import Path

import yaml

import links
import schemas
import security
import settings
from examples import README, built_examples
from generated import KUBERNETES, contents, rule_files, version
from mistakes import MISTAKES, made
from objects import Object, built, named, template, the

ROOT = Path(".")


def main() -> int:
    kubectl, program = Path(sys.argv[1]), settings.Program.at(Path(sys.argv[2]), version(ROOT))
    groups = [group for file in rule_files(ROOT) for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]]
    oldest, newest = schemas.versions()
    found = [f"{file}: is not what its sources make of it: run script/kubernetes"
             for file, text in contents(ROOT).items() if not file.exists() or file.read_text(encoding="utf-8") != text]

    def problems(objects: list[Object], versions: tuple[str, ...]) -> list[str]:
        # The other checks read what has its shape.
        return schemas.problems(objects, versions) or [
            *rule_problems(objects, groups), *links.problems(objects), *security.problems(template(objects)["spec"]),
            *settings.problems(objects, program),
        ]

    for overlay in sorted((KUBERNETES / "overlays").iterdir()):
        objects = built(kubectl, overlay)
        found += [f"{overlay}: {problem}" for problem in problems(objects, (oldest, newest))]
        print(f"{overlay}: {', '.join(map(named, objects))}")
    for number, objects in enumerate(built_examples(kubectl), start=1):
        found += [f"{README}, example {number}: {problem}" for problem in schemas.problems(objects, (oldest, newest))]
    if not found:
        # A check that finds nothing may look at nothing.
        objects = built(kubectl, KUBERNETES / "overlays/small")
        found += [f"the check does not find this mistake: {name}" for name, mistake in MISTAKES.items()
                  if not problems(made(objects, mistake), (newest,))]
        print(f"Kubernetes {oldest} and {newest}; {len(MISTAKES) - len(found)} of {len(MISTAKES)} mistakes are found")
    for problem in found:
        print(f"kubernetes: {problem}", file=sys.stderr)
    return 1 if found else 0


def rule_problems(objects: list[Object], groups: list[Object]) -> list[str]:
    """The rules are those of deploy/prometheus, also after kustomize has written them anew."""
    same = the("PrometheusRule", objects)["spec"]["groups"] == groups
    return [] if same else ["PrometheusRule: its groups are not those of deploy/prometheus/rules"]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as problem:
        sys.exit(f"kubernetes: {problem}")

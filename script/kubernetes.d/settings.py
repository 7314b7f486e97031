"""The settings of weir: its image, flags and file, and the times of its end."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from objects import Object, arguments, container, template, the

ACCESS_LOG = 5
"""Seconds for lines of the access log at the end, after the drain."""


@dataclass(frozen=True)
class Program:
    """A weir, its version and the flags that it knows."""

    path: Path
    version: str
    flags: frozenset[str]

    @staticmethod
    def at(path: Path, version: str) -> "Program":
        said = subprocess.run([path, "serve", "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
        return Program(path, version, frozenset(re.findall(r"(?m)^  (--[a-z0-9.-]+)", said)))

    def problems(self, configuration: str) -> list[str]:
        """The problems that `weir check` has with a file; its warnings count."""
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "weir.yml"
            file.write_text(configuration, encoding="utf-8")
            said = subprocess.run([self.path, "check", file], capture_output=True, text=True, timeout=60)
            return [] if said.stdout.endswith("no problems\n") else [f"weir check: {said.stdout}{said.stderr}".strip()]


def problems(objects: list[Object], program: Program) -> list[str]:
    file = the("ConfigMap", objects)["data"]["weir.yml"]
    flags = arguments(objects)
    found = [f"weir serve has no flag {flag}" for flag in flags if flag not in program.flags]
    if container(objects)["image"] != f"weir:{program.version}":
        found.append(f"the image is {container(objects)['image']}, and the version {program.version}: run script/kubernetes")
    if "replicas" in the("Deployment", objects)["spec"]:
        found.append("the Deployment has replicas, which the autoscaler decides")
    return found + end_problems(objects, flags) + place_problems(objects, flags, file) + program.problems(file)


def end_problems(objects: list[Object], flags: dict[str, str]) -> list[str]:
    """The pod must not be killed before weir has ended."""
    grace = template(objects)["spec"]["terminationGracePeriodSeconds"]
    delay, drain = flags.get("--gateway.shutdown-delay", "0s"), flags.get("--gateway.drain-timeout", "30s")
    takes = seconds(delay) + seconds(drain) + ACCESS_LOG
    return [] if takes < grace else [f"weir's end takes up to {takes:g} s, and the pod is killed after {grace} s"]


def place_problems(objects: list[Object], flags: dict[str, str], file: str) -> list[str]:
    """The ports are those where weir listens, the file is mounted, and there is a worker for each core."""
    ports = {port["name"]: port["containerPort"] for port in container(objects)["ports"]}
    listeners = {one["name"]: one["address"] for one in yaml.safe_load(file)["listeners"]}
    listens = {"gateway": listeners.get("gateway"), "metrics": flags.get("--web.listen-address")}
    found = [f"weir listens at {address} for {name}, and the container's port is {ports.get(name)}"
             for name, address in listens.items() if address != f":{ports.get(name)}"]
    mounts = {f"{mount['mountPath']}/weir.yml" for mount in container(objects)["volumeMounts"]}
    if flags.get("--config.file") not in mounts:
        found.append(f"--config.file is not mounted: {', '.join(sorted(mounts))} is")
    limit = container(objects).get("resources", {}).get("limits", {}).get("cpu")
    if flags.get("--gateway.workers") != limit:
        found.append(f"there are {flags.get('--gateway.workers')} workers for {limit} cores")
    return found + resource_problems(container(objects).get("resources", {}))


def resource_problems(resources: dict[str, Any]) -> list[str]:
    """Requests are what the autoscaler's percentage is of, and limits keep a pod from its neighbours' memory."""
    return [f"resources.{kind} has no {name}" for kind in ("requests", "limits") for name in ("cpu", "memory")
            if name not in resources.get(kind, {})]


def seconds(duration: str) -> float:
    """A duration of a flag.

    >>> seconds("1m30s"), seconds("500ms"), seconds("5")
    (90.0, 0.5, 5.0)
    """
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001, "": 1}
    return float(sum(float(number) * units[unit] for number, unit in re.findall(r"([0-9.]+)(ms|[dhms]|$)", duration)))

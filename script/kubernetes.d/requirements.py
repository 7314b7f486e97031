"""What has to hold for the objects of an overlay: how they name each other by labels, ports, namespaces and files; the settings of weir: its
image, flags and file, and the times of its end; and the security of its pods."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.prometheus import seconds
from objects import Object, container, named, template, the

NAMESPACE = "weir"
USER = 65532
"""The user of the image."""
VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
}
PROFILES = ("RuntimeDefault", "Localhost")
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
    flags = dict(argument.partition("=")[::2] for argument in container(objects).get("args", []))
    found = [f"weir serve has no flag {flag}" for flag in flags if flag not in program.flags]
    if container(objects)["image"] != f"weir:{program.version}":
        found.append(f"the image is {container(objects)['image']}, and the version {program.version}: run script/kubernetes")
    if "replicas" in the("Deployment", objects)["spec"]:
        found.append("the Deployment has replicas, which the autoscaler decides")
    found += link_problems(objects) + security_problems(template(objects)["spec"])
    found += end_problems(objects, flags) + place_problems(objects, flags, file)
    return found + program.problems(file)


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
    resources = container(objects).get("resources", {})
    limit = resources.get("limits", {}).get("cpu")
    if flags.get("--gateway.workers") != limit:
        found.append(f"there are {flags.get('--gateway.workers')} workers for {limit} cores")
    # Requests are what the autoscaler's percentage is of, and limits keep a pod from its neighbours' memory.
    return found + [f"resources.{kind} has no {name}" for kind in ("requests", "limits") for name in ("cpu", "memory")
                    if name not in resources.get(kind, {})]


def link_problems(objects: list[Object]) -> list[str]:
    """Names that lead nowhere. A cluster takes such objects, and then nothing happens."""
    labels = template(objects)["metadata"]["labels"]
    ports = {port["name"] for port in container(objects)["ports"]}
    found = [f"{place}: no pod has the labels {selector}" for place, selector in selectors(objects)
             if not selector or not selector.items() <= labels.items()]
    found += [f"{place}: the container has no port {port}" for place, port in named_ports(objects) if port not in ports]
    found += [f"{named(one)}: is not in the namespace {NAMESPACE}" for one in objects if namespace(one) != NAMESPACE]
    scaled = the("HorizontalPodAutoscaler", objects)["spec"]["scaleTargetRef"]
    if f"{scaled['kind']}/{scaled['name']}" != named(the("Deployment", objects)):
        found.append(f"HorizontalPodAutoscaler: scales {scaled['name']}, which is not there")
    label = the("PodMonitor", objects)["spec"].get("jobLabel")
    if labels.get(label) != "weir":
        found.append(f"PodMonitor: jobLabel is {label}: the rules name the job weir")
    return found + volume_problems(objects)


def selectors(objects: list[Object]) -> list[tuple[str, dict[str, str]]]:
    """Each selector of our pods, and its place."""
    found = [(named(one), one["spec"]["selector"]) for one in objects if one["kind"] == "Service"]
    found += [(named(one), one["spec"]["selector"].get("matchLabels", {})) for one in objects
              if one["kind"] in ("Deployment", "PodDisruptionBudget", "PodMonitor")]
    found += [(named(one), one["spec"]["podSelector"].get("matchLabels", {})) for one in objects
              if one["kind"] == "NetworkPolicy"]
    found += [(f"spread over {spread['topologyKey']}", spread["labelSelector"].get("matchLabels", {}))
              for spread in template(objects)["spec"]["topologySpreadConstraints"]]
    return found


def named_ports(objects: list[Object]) -> list[tuple[str, Any]]:
    """Each name of a port of our pods, and its place. Numbers count as names that no port has."""
    found = [("Service", port["targetPort"]) for port in the("Service", objects)["spec"]["ports"]]
    found += [("PodMonitor", end.get("port")) for end in the("PodMonitor", objects)["spec"]["podMetricsEndpoints"]]
    for way in the("NetworkPolicy", objects)["spec"]["ingress"]:
        found += [("NetworkPolicy", port["port"]) for port in way["ports"]]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        found.append((probe, container(objects)[probe]["httpGet"]["port"]))
    return found


def namespace(one: Object) -> str | None:
    return one["metadata"].get("name" if one["kind"] == "Namespace" else "namespace")


def volume_problems(objects: list[Object]) -> list[str]:
    """The pods mount the ConfigMap whose name changes with it."""
    name = the("ConfigMap", objects)["metadata"]["name"]
    mounted = [volume["configMap"]["name"] for volume in template(objects)["spec"]["volumes"] if "configMap" in volume]
    found = [f"the pods mount the ConfigMap {other}, which is not there" for other in mounted if other != name]
    return found if name.startswith("weir-") else [*found, f"ConfigMap/{name}: its name has no hash of its files"]


def security_problems(pod: Object) -> list[str]:
    """The rules of restricted Pod Security (https://kubernetes.io/docs/concepts/security/pod-security-standards) that a pod's `spec`
    breaks. A cluster's admission holds pods to them; two rules are our own: a read-only root, and no token.

    >>> safe = {"automountServiceAccountToken": False,
    ...   "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
    ...   "containers": [{"name": "a", "securityContext": {"allowPrivilegeEscalation": False,
    ...     "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}}]}
    >>> security_problems(safe)
    []
    >>> security_problems(safe | {"hostNetwork": True, "volumes": [{"name": "v", "hostPath": {"path": "/"}}]})
    ['hostNetwork is true', 'the volume v is a hostPath']
    >>> for problem in security_problems({"containers": [{"name": "a", "ports": [{"containerPort": 1, "hostPort": 1}]}]}): print(problem)
    the pod gets the token of a service account
    a: hostPort is used
    a: allowPrivilegeEscalation is not false
    a: the capabilities are not dropped
    a: runAsNonRoot is not true
    a: runs as the user None, not 65532
    a: the seccomp profile is None
    a: the root file system can be written
    """
    found = [f"{key} is true" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.get(key)]
    for volume in pod.get("volumes", []):
        found += [f"the volume {volume['name']} is a {kind}" for kind in volume.keys() - VOLUMES - {"name"}]
    if pod.get("automountServiceAccountToken") is not False:
        found.append("the pod gets the token of a service account")
    shared = pod.get("securityContext", {})
    if shared.get("sysctls"):
        found.append("sysctls are set")
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for one in pod.get(kind, []):
            found += [f"{one['name']}: {problem}" for problem in container_problems(one, shared)]
    return found


def container_problems(one: Object, shared: Object) -> list[str]:
    own = one.get("securityContext", {})
    both = shared | own
    capabilities = own.get("capabilities", {})
    user, profile = both.get("runAsUser"), both.get("seccompProfile", {}).get("type")
    rules = [
        (not any(port.get("hostPort") for port in one.get("ports", [])), "hostPort is used"),
        (not own.get("privileged"), "privileged is true"),
        (own.get("allowPrivilegeEscalation") is False, "allowPrivilegeEscalation is not false"),
        ("ALL" in capabilities.get("drop", []), "the capabilities are not dropped"),
        (set(capabilities.get("add", [])) <= {"NET_BIND_SERVICE"}, "capabilities are added"),
        (own.get("procMount", "Default") == "Default", "procMount is set"),
        (both.get("runAsNonRoot") is True, "runAsNonRoot is not true"),
        (user == USER, f"runs as the user {user}, not {USER}"),
        (profile in PROFILES, f"the seccomp profile is {profile}"),
        (both.get("appArmorProfile", {}).get("type", PROFILES[0]) in PROFILES, "AppArmor is off"),
        ("seLinuxOptions" not in both, "seLinuxOptions are set"),
        (not both.get("windowsOptions", {}).get("hostProcess"), "hostProcess is true"),
        (own.get("readOnlyRootFilesystem") is True, "the root file system can be written"),
    ]
    return [problem for holds, problem in rules if not holds]

"""The rules of restricted Pod Security (https://kubernetes.io/docs/concepts/security/pod-security-standards), which a
cluster's admission holds pods to, and two of our own: a read-only root, and no token."""

from typing import Any

USER = 65532
"""The user of the image."""
VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
}
PROFILES = ("RuntimeDefault", "Localhost")


def problems(pod: dict[str, Any]) -> list[str]:
    """The rules that a pod's `spec` breaks.

    >>> safe = {"automountServiceAccountToken": False,
    ...   "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
    ...   "containers": [{"name": "a", "securityContext": {"allowPrivilegeEscalation": False,
    ...     "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}}]}
    >>> problems(safe)
    []
    >>> problems(safe | {"hostNetwork": True, "volumes": [{"name": "v", "hostPath": {"path": "/"}}]})
    ['hostNetwork is true', 'the volume v is a hostPath']
    >>> for problem in problems({"containers": [{"name": "a", "ports": [{"containerPort": 1, "hostPort": 1}]}]}): print(problem)
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
        for container in pod.get(kind, []):
            found += [f"{container['name']}: {problem}" for problem in container_problems(container, shared)]
    return found


def container_problems(container: dict[str, Any], shared: dict[str, Any]) -> list[str]:
    own = container.get("securityContext", {})
    both = shared | own
    capabilities = own.get("capabilities", {})
    user, profile = both.get("runAsUser"), both.get("seccompProfile", {}).get("type")
    rules = [
        (not any(port.get("hostPort") for port in container.get("ports", [])), "hostPort is used"),
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

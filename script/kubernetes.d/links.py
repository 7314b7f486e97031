"""How objects name each other: labels, ports, namespaces and files."""

from typing import Any

from objects import Object, container, named, template, the

NAMESPACE = "weir"


def problems(objects: list[Object]) -> list[str]:
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

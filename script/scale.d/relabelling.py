"""What Prometheus has to keep for the shipped rules."""

from expressions import Rule, Selector, read_metrics, selectors

PHASES = "phase"
"""The label by whose values most series are left out."""


def keeping(every: list[Rule]) -> list[dict[str, object]]:
    """The metric_relabel_configs that keep the metrics of the rules, and of phases those that they read.

    >>> for step in keeping([Rule("a", 'rate(weir_x_bucket{phase=~"tls|connect"}[5m]) / rate(weir_y_total[5m])')]):
    ...     print(step)
    {'source_labels': ['__name__', 'phase'], 'regex': 'weir_y_total;.*|weir_x_bucket;(connect|tls)', 'action': 'keep'}
    """
    every_selector = [selector for rule in every for selector in selectors(rule.expression)]
    wanted = [f"{name};.*" for name in read_metrics(every) if not phases(every_selector, name)]
    for name in read_metrics(every):
        if found := phases(every_selector, name):
            wanted.append(f"{name};({'|'.join(sorted(found))})")
    return [{"source_labels": ["__name__", PHASES], "regex": "|".join(wanted), "action": "keep"}]


def phases(every: list[Selector], name: str) -> set[str]:
    """The phases of a metric that are read; empty if it has none."""
    found: set[str] = set()
    for selector in every:
        if selector.metric == name:
            found |= {
                value
                for label, operator, values in selector.matchers
                if label == PHASES and operator.startswith("=") 
                for value in values.split("|")
            }
    return found

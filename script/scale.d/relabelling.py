"""The series that Prometheus has to keep for the shipped rules."""

from expressions import Rule, Selector, read_metrics, selectors

PHASE = "phase"
"""The label by whose values most series can be left out."""


def keeping(every: list[Rule]) -> list[str]:
    """The values of `__name__;phase` of series that the rules read, as regular expressions.

    >>> keeping([Rule("a", 'rate(weir_x_bucket{phase=~"tls|connect"}[5m]) / rate(weir_y_total[5m])')])
    ['weir_x_bucket;(connect|tls)', 'weir_y_total;.*']
    """
    found = [selector for rule in every for selector in selectors(rule.expression)]
    return [f"{name};{phases([s for s in found if s.metric == name])}" for name in read_metrics(every)]


def phases(found: list[Selector]) -> str:
    """The phases that all selectors of a metric name, or any."""
    named: set[str] = set()
    for selector in found:
        values = [value for label, operator, value in selector.matchers if label == PHASE and operator in ("=", "=~")]
        if not values:
            return ".*"
        named |= set(values[0].split("|"))
    return f"({'|'.join(sorted(named))})"


def relabelling(kept: list[str]) -> list[dict[str, object]]:
    return [{"source_labels": ["__name__", PHASE], "regex": "|".join(kept), "action": "keep"}]


def written(kept: list[str]) -> str:
    """The same as docs/scale.md has it.

    >>> print(written(["a;.*", "b;.*"]))
          - source_labels: [__name__, phase]
            regex: "\\
              a;.*|\\
              b;.*"
            action: keep
    """
    lines = ["      - source_labels: [__name__, phase]", '        regex: "\\']
    lines += [f"          {pattern}|\\" for pattern in kept[:-1]] + [f'          {kept[-1]}"', "        action: keep"]
    return "\n".join(lines)

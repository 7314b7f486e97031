"""The expressions of the shipped rules, and the series that they read, which Prometheus has to keep for them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lab.prometheus import RULES, seconds

PHASE, OPERATION = "phase", "operation"
"""The labels by whose values most series can be left out."""
SELECTOR = re.compile(
    r"\b(?P<name>up|(?:weir|http|process)_[a-z0-9_]+|[a-z_]+:[a-z0-9_:]+)\b"
    r"\s*(?:\{(?P<matchers>[^}]*)\})?\s*(?:\[(?P<window>\d+[smhd])\])?(?!\s*[=!]~?\")"
)
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


@dataclass(frozen=True)
class Rule:
    name: str
    expression: str


@dataclass(frozen=True)
class Selector:
    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    window: int
    """Seconds; 0 for the present."""

    def matches(self, labels: dict[str, str]) -> bool:
        """
        >>> selector = next(selectors('rate(weir_a_total{reason!~"x|y", le="1"}[5m])'))
        >>> [selector.matches({"reason": reason, "le": "1"}) for reason in "axy"]
        [True, False, False]
        """
        for name, operator, value in self.matchers:
            pattern = value if operator.endswith("~") else re.escape(value)
            if bool(re.fullmatch(pattern, labels.get(name, ""))) == operator.startswith("!"):
                return False
        return True


def rules(text: str) -> Iterator[Rule]:
    """Reads a file of rules as the shipped ones are laid out.

    >>> list(rules('''
    ... - record: a:b
    ...   expr: sum(c)
    ... - alert: D
    ...   expr: |
    ...     e >
    ...     f
    ...   for: 1m
    ... '''))
    [Rule(name='a:b', expression='sum(c)'), Rule(name='D', expression='e > f')]
    """
    for entry in re.split(r"(?m)^\s*- (?=record: |alert: )", text)[1:]:
        name = entry.split(maxsplit=2)[1]
        found = re.search(r"(?m)^(\s*)expr:(?: [|>]-?$)?((?:.*)(?:\n\1\s.*|\n\s*$)*)", entry)
        if found:
            yield Rule(name, " ".join(found[2].split()))


def selectors(expression: str) -> Iterator[Selector]:
    """
    >>> text = 'sum by (job, le) (rate(weir_a_bucket{x=~"a|b"}[6h])) / on (job) job:b:rate5m'
    >>> [(selector.metric, selector.window) for selector in selectors(text)]
    [('weir_a_bucket', 21600), ('job:b:rate5m', 0)]
    """
    for found in SELECTOR.finditer(expression):
        matchers, window = MATCHER.findall(found["matchers"] or ""), seconds(found["window"] or "")
        yield Selector(found["name"], tuple(matchers), int(window))


def shipped() -> list[Rule]:
    return [rule for file in sorted(RULES.glob("*.yml")) for rule in rules(file.read_text())]


def read_metrics(every: list[Rule]) -> list[str]:
    """The metrics of weir's pages that rules read, with the suffixes of histograms.

    >>> read_metrics([Rule("a:b", "sum(weir_x_total)"), Rule("C", "a:b > weir_y_count and up")])
    ['weir_x_total', 'weir_y_count']
    """
    names = {selector.metric for rule in every for selector in selectors(rule.expression)}
    return sorted(name for name in names if ":" not in name and name != "up")


def keeping(every: list[Rule]) -> list[str]:
    """The values of `__name__;phase;operation` of series that the rules read, as regular expressions.

    >>> keeping([Rule("a", 'rate(weir_x_bucket{phase=~"tls|connect"}[5m]) / rate(weir_y_total[5m])')])
    ['weir_x_bucket;(connect|tls);.*', 'weir_y_total;.*']
    >>> keeping([Rule("a", 'weir_x_bucket{operation!=""}'), Rule("b", 'weir_y{operation!=""} or weir_y')])
    ['weir_x_bucket;.*;.+', 'weir_y;.*']
    """
    found = [selector for rule in every for selector in selectors(rule.expression)]
    return [pattern(name, [s for s in found if s.metric == name]) for name in read_metrics(every)]


def pattern(name: str, found: list[Selector]) -> str:
    """
    >>> pattern("weir_x", list(selectors("weir_x")))
    'weir_x;.*'
    """
    needs_name = all((OPERATION, "!=", "") in selector.matchers for selector in found)
    values = [phases(found), ".+" if needs_name else ".*"]
    return ";".join([name, *([".*"] if values == [".*", ".*"] else values)])


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
    return [{"source_labels": ["__name__", PHASE, OPERATION], "regex": "|".join(kept), "action": "keep"}]


def written(kept: list[str]) -> str:
    """The same as docs/scale.md has it.

    >>> print(written(["a;.*", "b;.*"]))
          - source_labels: [__name__, phase, operation]
            regex: "\\
              a;.*|\\
              b;.*"
            action: keep
    """
    lines = ["      - source_labels: [__name__, phase, operation]", '        regex: "\\']
    lines += [f"          {pattern}|\\" for pattern in kept[:-1]] + [f'          {kept[-1]}"', "        action: keep"]
    return "\n".join(lines)

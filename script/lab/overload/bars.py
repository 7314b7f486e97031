"""What weir has to reach, and whether it did."""

from dataclasses import dataclass

PHRASES = {
    "good": "the number of good answers per second",
    "first": "the number of good answers per second in the first 10 s",
    "after": "the number of good answers per second afterwards",
    "share": "the share of good answers",
    "urgent": "the share of good answers to urgent requests",
    "refused": "the number of refused requests",
    "again": "the time in seconds until answers were good again",
    "heard": "the time in seconds until a caller heard anything (median)",
    "last_refusal": "the time in seconds until the last refusal",
    "p50": "the median time in seconds of good answers",
    "p99": "the 99th percentile in seconds of good answers",
}
"""The figures' names in words."""


@dataclass(frozen=True)
class Bar:
    """Bounds a figure of weir's, by a number or by a factor of another run's figure: that of the gateway `beside` in
    the same row, or weir's own in the row `than`."""

    figure: str
    least: float | None = None
    most: float | None = None
    beside: str = ""
    than: str = ""
    less: float = 0
    """By how much a figure may fall short of the other run's, or exceed it."""

    def bound(self, other: object) -> tuple[float | None, float | None]:
        """The least and the most, given the other figure. None for both if there is no such figure.

        >>> Bar("good", least=36).bound(None), Bar("p99", most=1.1, beside="off").bound(0.5)
        ((36, None), (None, 0.55))
        >>> Bar("share", least=1, beside="off", less=0.01).bound(0.95), Bar("p99", most=1.1, beside="off").bound(None)
        ((0.94, None), (None, None))
        """
        if not (self.beside or self.than):
            return self.least, self.most
        if not isinstance(other, int | float):
            return None, None
        return (
            None if self.least is None else round(self.least * other - self.less, 6),
            None if self.most is None else round(self.most * other + self.less, 6),
        )

    def missed(self, value: float | str | None, other: object = None) -> str:
        """How the figure misses the bar; empty if it does not. A time that was not reached misses every bar.

        >>> Bar("good", least=36).missed(36.2), Bar("good", least=36).missed(1.3)
        ('', 'the number of good answers per second is 1.3, less than 36')
        >>> print(Bar("again", most=3).missed(None), Bar("share", least=0.9, beside="off").missed(0.8, 1), sep="\\n")
        the time in seconds until answers were good again was not reached
        the share of good answers is 0.8, less than 0.9
        """
        least, most = self.bound(other)
        what = PHRASES[self.figure]
        if least is None and most is None:
            return ""
        if not isinstance(value, int | float):
            return f"{what} was not reached"
        if least is not None and value < least:
            return f"{what} is {value:.4g}, less than {least:.4g}"
        if most is not None and value > most:
            return f"{what} is {value:.4g}, more than {most:.4g}"
        return ""

    def __str__(self) -> str:
        """
        >>> print(Bar("p99", most=1.1, beside="off"), Bar("good", least=0.85, than="1.5x"), sep=", ")
        p99 ≤ 1.1 × off's, good ≥ 0.85 × that of 1.5x
        """
        sign, number = ("≥", self.least) if self.least is not None else ("≤", self.most)
        other = f" × {self.beside}'s" if self.beside else f" × that of {self.than}" if self.than else ""
        less = f" {'-' if self.least is not None else '+'} {self.less:g}" if self.less else ""
        return f"{self.figure} {sign} {number:g}{other}{less}"

"""Models of an origin in exact time: when it answers which request. They have no clock, so that an answer that is sent late
does not delay the ones behind it."""

import heapq
import math
import random
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass

ANSWERS, HANGS, PAUSES, REFUSES, RESETS = "answers", "hangs", "pauses", "refuses", "resets"
"""States of the origin. It answers; it accepts requests and never answers them; it keeps them and answers them
afterwards; its port is closed; it resets each connection at its first byte."""

GOLDEN = 0.6180339887
"""Steps of this length, modulo 1, are spread evenly: of any hundred answers, half of which fail, nearly fifty do."""

Answer = tuple[float, Hashable, int]
"""The time of an answer, its request and its status."""


@dataclass(frozen=True)
class Phase:
    """The origin's behaviour for a while. Times are in seconds."""

    at: float = 0
    """When the phase begins."""
    state: str = ANSWERS
    servers: int = 1
    service: float = 0.025
    """The mean time that one server needs for an answer."""
    spread: str = "fixed"
    """How service times spread: `fixed`, `exponential`, `even` (0.5 to 1.5 times the mean)."""
    sharing: bool = False
    """The servers work on all requests at once, not first come, first served."""
    slowed_at: float = math.inf
    """The number of waiting requests that doubles the service time."""
    failing: float = 0
    """The share of answers that are 503."""
    status: int = 200
    ramp: float = 0
    """From the phase's begin, the capacity grows from a fifth to the full one in this time."""
    longest_wait: float = math.inf
    """Requests that would wait longer are refused, by an origin that has one server."""
    refusal: float = 0.002
    """The time that the server needs for a refusal."""

    def model(self, seed: int) -> "Model | Refusing":
        return Model(self, seed) if self.longest_wait == math.inf else Refusing(self, seed)


@dataclass(frozen=True)
class Work:
    request: Hashable
    size: float
    """The service time over its mean."""
    luck: float
    """A number from 0 to 1."""


class Model:
    """One queue of requests, in one phase after the other. The work of callers who left is done like any other.

    Time advances only by calls of `advance`, which says what ended until then; `arrive` comes after it.

    >>> model = Model(Phase(service=10))
    >>> for request in "abc":
    ...     model.arrive(0, request)
    >>> model.advance(25), model.next_end()
    ([(10, 'a', 200), (20, 'b', 200)], 30)

    What hangs is never answered, while a pause ends. The phase is changed after an `advance` until its begin.

    >>> model.advance(30), model.change(Phase(at=30, state=HANGS))
    ([(30, 'c', 200)], None)
    >>> model.arrive(30, "swallowed"), model.change(Phase(at=40, state=PAUSES, service=10)), model.arrive(50, "kept")
    (None, None, None)
    >>> model.advance(60), model.change(Phase(at=60, service=10)), model.advance(100)
    ([], None, [(70, 'kept', 200)])

    Two servers; two that share the work; and one that a queue slows down.

    >>> for options in {"servers": 2}, {"servers": 2, "sharing": True}, {"slowed_at": 2}:
    ...     model = Model(Phase(service=10, **options))
    ...     for request in "abc":
    ...         model.arrive(0, request)
    ...     print([(round(at, 3), request) for at, request, _ in model.advance(100)])
    [(10, 'a'), (10, 'b'), (20, 'c')]
    [(15.0, 'a'), (15.0, 'b'), (15.0, 'c')]
    [(10.0, 'a'), (25.0, 'b'), (35.0, 'c')]

    Half of the answers fail.

    >>> model = Model(Phase(service=1, failing=0.5))
    >>> for request in range(20):
    ...     model.arrive(0, request)
    >>> [status for _, _, status in model.advance(100)].count(503)
    10

    A fifth of the capacity at first, and all of it after 100 s.

    >>> model = Model(Phase(service=10, ramp=100))
    >>> model.arrive(0, "early")
    >>> model.advance(150), model.arrive(150, "late"), model.advance(200)
    ([(50.0, 'early', 200)], None, [(160.0, 'late', 200)])
    """

    def __init__(self, phase: Phase, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.waiting: deque[Work] = deque()
        self.served: list[tuple[float, int, Work]] = []
        """A heap of the requests being served: by their end, and where they share the servers by the progress at it."""
        self.progress = 0.0
        """Service time that each sharing request has got since the beginning."""
        self.now = 0.0
        self.luck = 0.0
        self.count = 0
        self.phase = phase

    def arrive(self, now: float, request: Hashable) -> None:
        self.luck = (self.luck + GOLDEN) % 1
        work = Work(request, self.size(), self.luck)
        if self.phase.state in (HANGS, REFUSES, RESETS):
            return
        self.waiting.append(work)
        self.start(now)

    def change(self, phase: Phase) -> None:
        self.phase = phase
        if phase.state == REFUSES:
            self.waiting.clear()
            self.served.clear()
        self.now = phase.at
        self.start(phase.at)

    def advance(self, now: float) -> list[Answer]:
        """Advances the time. Returns the answers that ended until then, in order."""
        ended = []
        while (end := self.next_end()) is not None and end <= now:
            self.pass_time(end)
            work = heapq.heappop(self.served)[2]
            failed = work.luck < self.phase.failing
            ended.append((end, work.request, 503 if failed else self.phase.status))
            self.start(end)
        self.pass_time(now)
        return ended

    def next_end(self) -> float | None:
        if not self.served:
            return None
        first = self.served[0][0]
        return self.now + (first - self.progress) / self.speed() if self.phase.sharing else first

    def __len__(self) -> int:
        return len(self.waiting) + len(self.served)

    # Inside

    def start(self, now: float) -> None:
        if self.phase.state in (HANGS, PAUSES):
            return
        while self.waiting and (self.phase.sharing or len(self.served) < self.phase.servers):
            work = self.waiting.popleft()
            self.count += 1
            begin = self.progress if self.phase.sharing else now
            heapq.heappush(self.served, (begin + self.service(work, now), self.count, work))

    def service(self, work: Work, now: float) -> float:
        phase = self.phase
        seconds = phase.service * work.size
        if phase.slowed_at < math.inf:
            seconds *= 1 + len(self.waiting) / phase.slowed_at
        if phase.ramp:
            seconds /= min(1, 0.2 + 0.8 * (now - phase.at) / phase.ramp)
        return seconds

    def size(self) -> float:
        match self.phase.spread:
            case "exponential":
                return self.random.expovariate(1)
            case "even":
                return self.random.uniform(0.5, 1.5)
        return 1

    def speed(self) -> float:
        return min(1, self.phase.servers / max(1, len(self.served)))

    def pass_time(self, now: float) -> None:
        """Advances to a time before which nothing begins or ends, so that the speed is the same all the while."""
        if self.phase.sharing and self.served:
            self.progress = min(self.progress + (now - self.now) * self.speed(), self.served[0][0])
        self.now = now


class Refusing:
    """One queue of requests, of which those that would wait too long are refused at once.

    That is cheap, but not free: the server accepts such a request, reads it and writes an answer, and has no time for others
    meanwhile. A server that is asked often enough does nothing else.

    >>> model = Refusing(Phase(service=40, refusal=10, longest_wait=50))
    >>> for request in "abcd":
    ...     model.arrive(0, request)
    >>> model.advance(59), model.arrive(60, "behind two answers and two refusals"), model.advance(140)
    ([(0, 'c', 503), (0, 'd', 503), (40, 'a', 200)], None, [(80, 'b', 200), (140, 'behind two answers and two refusals', 200)])

    Half of the answers fail at random.

    >>> model.change(Phase(service=80, refusal=10, longest_wait=50, failing=0.5))
    >>> for time in range(1000, 5000, 100):
    ...     model.arrive(time, "late")
    >>> answers = model.advance(6000)
    >>> answers[0][0], 10 < sum(status == 503 for _, _, status in answers) < 30
    (1080, True)
    """

    def __init__(self, phase: Phase, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.free = 0.0
        """The time from which the server is free."""
        self.ends: list[tuple[float, int, Hashable, int]] = []
        """A heap of the answers to come, in order of their time and of the requests."""
        self.count = 0
        self.phase = phase

    def arrive(self, now: float, request: Hashable) -> None:
        phase, start = self.phase, max(now, self.free)
        self.count += 1
        if start - now > phase.longest_wait:
            # A request that the queue can't hold never reaches the server.
            self.free = min(start + phase.refusal, now + 2 * phase.longest_wait)
            heapq.heappush(self.ends, (now, self.count, request, 503))
        else:
            self.free = start + phase.service
            failed = self.random.random() < phase.failing
            heapq.heappush(self.ends, (self.free, self.count, request, 503 if failed else phase.status))

    def change(self, phase: Phase) -> None:
        self.phase = phase

    def advance(self, now: float) -> list[Answer]:
        ended = []
        while self.ends and self.ends[0][0] <= now:
            end, _, request, status = heapq.heappop(self.ends)
            ended.append((end, request, status))
        return ended

    def next_end(self) -> float | None:
        return self.ends[0][0] if self.ends else None

    def __len__(self) -> int:
        return len(self.ends)

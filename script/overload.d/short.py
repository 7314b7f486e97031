"""Three rows for CI: load control helps, harms nothing, and notices an upstream that hangs. They run at the same time,
and their bars hold on a machine three times slower."""

from dataclasses import replace

from bars import Bar
from load import Load
from models import HANGS, Phase
from rows import COUNTED_FROM, PATIENT, Row, harmless

BEGIN, END = 3, 12
"""The begin and end of the hang."""

SHORT = (
    Row(
        "overload",
        "1.5x: 60/s",
        Load(rates=((0, 60),), until=16),
        (Phase(),),
        window=(COUNTED_FROM, 16),
        bars=(Bar("good", least=24),),
        best=40,
    ),
    harmless(
        "no-harm",
        "200 at once to 200/s, patient",
        replace(Load(bursts=((1, 200), (6, 200)), until=8), patience=PATIENT),
        Phase(servers=5),
        at_once=True,
        bars=(Bar("refused", most=0), Bar("share", least=1)),
    ),
    Row(
        "hang",
        "hung for 9 s, callers give up after 2 s",
        Load(rates=((0, 20),), until=18),
        (Phase(), Phase(at=BEGIN, state=HANGS), Phase(at=END)),
        window=(0, 18),
        fault=(BEGIN, END),
        shows=("heard", "again"),
        bars=(Bar("heard", most=0.5), Bar("again", most=3)),
    ),
)

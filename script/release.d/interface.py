"""Which of the breakages that the compiler reports concern the public interface. It compares what this package's modules share, too."""

import re


def public_breakages(report: str, table: str) -> list[str]:
    """Returns the breakages of symbols that the last release's table has, or of their new cases and requirements.

    >>> table = "Session\\tWeir: class\\nSession.Reason\\tWeir: enum\\nSession.cancel(_:)\\tWeir: func\\n"
    >>> report = '''
    ...   💔 API breakage: func Session.cancel(_:) has been removed
    ...   💔 API breakage: func Session.inner(_:) has been removed
    ...   💔 API breakage: func Part.cancel(_:) has been removed
    ...   💔 API breakage: enumelement Session.Reason.late has been added as a new enum case
    ...   💔 API breakage: enumelement Inner.late has been added as a new enum case
    ... '''
    >>> [line.split()[1] for line in public_breakages(report, table)]
    ['Session.cancel(_:)', 'Part.cancel(_:)', 'Session.Reason.late']

    A function counts in every type, since the table has one that a protocol asks for in the protocol only. A sentence of
    another form counts.

    >>> public_breakages("API breakage: something else", table)
    ['something else']
    """
    names = {line.split("\t")[0] for line in table.splitlines()}
    functions = {last(name) for name in names if "(" in name}
    found = []
    for breakage in re.findall(r"API breakage: (.*)", report):
        sentence = re.match(r"\w+ (\S+) has (.*)", breakage)
        name = sentence[1] if sentence else ""
        adds = bool(sentence) and sentence[2].startswith("been added") and name.removesuffix(last(name)).rstrip(".") in names
        if not sentence or name in names or last(name) in functions or adds:
            found.append(breakage)
    return found


def last(name: str) -> str:
    """
    >>> last("Session.cancel(_:to:)"), last("Session")
    ('cancel(_:to:)', 'Session')
    """
    found = re.search(r"[^.]*\([^)]*\)$|[^.]+$", name)
    return found[0] if found else name

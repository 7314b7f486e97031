"""Swift source as tokens: words, numbers and punctuation with their lines.

Comments are left out; of a string literal remain a pair of quotes and the code of its interpolations, of a regex
literal the quotes.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Unreadable(Exception):
    """A problem of a file, and its place."""


class Token(NamedTuple):
    text: str
    line: int
    follows_space: bool = False

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha() or self.text[0] == "_"

    @property
    def is_type_name(self) -> bool:
        return self.text[0].isupper()


TOKEN = re.compile(
    r"""
      (?P<space> [^\S\n]+ | // [^\n]* | \# (?: if | elseif | else | endif ) \b [^\n]* )
    | (?P<line> \n )
    | (?P<comment> /\* )
    | (?P<pattern> (?: (?<= [(,:=\[] ) | (?<= [(,:=\[]\s ) ) / (?! [\s/*] ) (?: \\. | [^/\\\n] )+ / )
    | (?P<string> (?P<hashes> \#* ) (?P<quotes> \"\"\" (?= [^\S\n]* \n ) | " ) )
    | (?P<word> `? [^\W\d] \w* `? )
    | (?P<number> \d (?: [\w]* (?: \. \d \w* )? ) )
    | (?P<sign> -> | \.\.\. | \.\.< | ==? | . )
    """,
    re.VERBOSE,
)
COMMENT_EDGE = re.compile(r"/\*|\*/")


def tokens(text: str) -> Iterator[Token]:
    r"""The tokens of a source text.

    >>> [token.text for token in tokens('let a = b.c(0..<8, 1.5) // d')]
    ['let', 'a', '=', 'b', '.', 'c', '(', '0', '..<', '8', ',', '1.5', ')']
    >>> [token.text for token in tokens(r'f("x \(self.y("z")) w", #"\(u) \#(v)"#) /* /* */ n */ + 1')]
    ['f', '(', '""', 'self', '.', 'y', '(', '""', ')', ',', '""', 'v', ')', '+', '1']
    >>> [(token.text, token.line) for token in tokens('a\n"\"\"\n  b \(c)\n"\"\"\n#if d\ne')]
    [('a', 1), ('""', 2), ('c', 3), ('e', 6)]
    >>> [token.text for token in tokens(r'a.b(/\ "{ \d/, c: d / e)')]
    ['a', '.', 'b', '(', '""', ',', 'c', ':', 'd', '/', 'e', ')']
    """
    return Lexer(text).code()


class Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.line = 1

    def code(self, interpolated: bool = False) -> Iterator[Token]:
        """Tokens to the end of the text, or of the interpolation that has been entered."""
        depth = 0
        space = True
        while match := TOKEN.match(self.text, self.position):
            self.position = match.end()
            kind = match.lastgroup if match["quotes"] is None else "string"
            if kind == "line":
                self.line += 1
            elif kind == "comment":
                self.skip_comment()
            elif kind == "string":
                yield Token('""', self.line, space)
                yield from self.literal(match["hashes"], match["quotes"])
            elif kind == "pattern":
                yield Token('""', self.line, space)
            elif kind != "space":
                text = match[0].strip("`") if kind == "word" else match[0]
                if interpolated and text in "()":
                    depth += 1 if text == "(" else -1
                    if depth < 0:
                        return
                yield Token(text, self.line, space)
            space = kind in ("line", "comment", "space")

    def literal(self, hashes: str, quotes: str) -> Iterator[Token]:
        """The code in a string literal whose opening delimiter has been read."""
        edge = re.compile(rf"(?P<end>{quotes}{hashes})|\\{hashes}(?P<code>\()|(?P<line>\n)|\\{hashes}[^(\n]")
        while match := edge.search(self.text, self.position):
            self.position = match.end()
            if match["end"]:
                return
            if match["line"]:
                self.line += 1
            elif match["code"]:
                yield from self.code(interpolated=True)
        self.position = len(self.text)

    def skip_comment(self) -> None:
        """Skips a block comment, which may hold others."""
        depth = 1
        while depth and (match := COMMENT_EDGE.search(self.text, self.position)):
            self.line += self.text.count("\n", self.position, match.end())
            self.position = match.end()
            depth += 1 if match[0] == "/*" else -1

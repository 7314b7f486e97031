"""Declarations and uses in one Swift source file."""

from dataclasses import dataclass, field
from pathlib import Path

from syntax import KEYWORDS, TYPE_KEYWORDS, Syntax
from tokens import Token, Unreadable

@dataclass(frozen=True)
class Declaration:
    """A type, a member of a type, or a function or constant of the module."""

    owner: tuple[str, ...]
    name: str
    is_type: bool
    is_private: bool
    line: int
    inherited: tuple[tuple[str, ...], ...] = ()
    type: tuple[str, ...] = ()
    """A property's, where it is written."""
    is_function: bool = False


@dataclass(frozen=True)
class Use:
    """A place where a declaration is named.

    `chain` begins with the name of a type, with `self`, with a bare name, or, where the receiver is an expression, with
    nothing: then it is the member's name alone. `scope` is the type around the place.
    """

    kind: str
    chain: tuple[str, ...]
    scope: tuple[str, ...]
    line: int
    is_call: bool = False
    """Whether arguments may follow the chain's last name."""
    receiver: tuple[str, ...] = ()
    """The type of which the chain's first name is a member, if it is known, for the kind `of`."""


@dataclass
class Body:
    """The code between the braces of a member, or between other braces, and the names that are bound there."""

    bound: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """With their types, as far as those are written there."""
    bare: list[Use] = field(default_factory=list)

    def resolved(self, use: Use) -> Use | None:
        """A use that begins with a bare name, as one of that name's type if the name is bound here."""
        head, *rest = use.chain
        if head not in self.bound:
            return use
        return Use("of", (*rest,), use.scope, use.line, use.is_call, self.bound[head]) if rest else None


@dataclass
class Scope:
    path: tuple[str, ...] | None
    """Nil in code."""
    is_private: bool = False
    is_enum: bool = False


class SourceFile(Syntax):
    """One file, read.

    >>> file = SourceFile(Path("A.swift"), '''
    ... struct A: B { let c: D.E; private var f = 1; func g(h: Int) { h.i(); j = k { l in l.m } } }
    ... enum N { case o(Int), p = "x" }
    ... extension N.O { }
    ... func q() -> R { A.s(.t) }
    ... ''')
    >>> [".".join(declared.owner + (declared.name,)) for declared in file.declarations]
    ['A', 'A.c', 'A.f', 'A.g', 'N', 'N.o', 'N.p', 'q']
    >>> [(use.kind, ".".join(use.chain)) for use in file.uses]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('type', 'B'), ('type', 'D.E'), ('type', 'Int'), ('type', 'Int'), ('type', 'N.O'), ('type', 'R'), ('type', 'A.s'),
     ('member', 't'), ('of', 'i'), ('bare', 'j'), ('bare', 'k'), ('of', 'm')]
    """

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(text)
        self.path = path
        self.declarations: list[Declaration] = []
        self.uses: list[Use] = []
        self.labels: set[str] = set()
        self.imports: set[str] = set()
        self.scopes = [Scope(())]
        self.body = Body()
        self.bodies = [self.body]
        self.code_depth = 0
        self.read()
        for body in self.bodies:
            self.uses += filter(None, (body.resolved(use) for use in body.bare))

    # Reading

    def read(self) -> None:
        index = 0
        while index < self.count:
            index = self.read_token(index)
        if len(self.scopes) > 1:
            raise Unreadable(f"{self.path}: {len(self.scopes) - 1} braces are not closed")

    def read_token(self, index: int) -> int:
        """Reads the construct that begins at a token; returns the index after it."""
        token = self.tokens[index]
        if token.text == "{":
            self.enter_code(index)
        elif token.text == "}":
            self.leave(token.line)
        elif not token.is_word:
            return index + 1
        elif self.text(index - 1) == ".":
            if not self.is_chained(index):
                self.use("member", index, (self.name(index),))
        elif token.text == "import":
            self.imports.add(self.text(index + 1))
            return self.end_of_line(index)
        elif token.text in TYPE_KEYWORDS and self.is_type_declaration(index):
            return self.read_type(index)
        elif token.text in ("func", "init", "subscript") and self.declares_function(index):
            return self.read_function(index)
        elif token.text in ("typealias", "associatedtype"):
            self.declare(index, self.tokens[index + 1], is_type=True)
            return index + 2
        elif token.text in ("let", "var"):
            return self.read_binding(index)
        elif token.text == "for":
            self.bind_pattern(index + 1)
        elif token.text == "case":
            return self.read_case(index)
        elif token.text in ("self", "super", "Self"):
            if chain := self.chain(index)[1:]:
                self.use("self", index, chain)
        elif token.text not in KEYWORDS:
            self.read_name(index)
        return index + 1

    def read_name(self, index: int) -> None:
        """A chain of names that begins with a type's name or a bare one."""
        if not self.is_label(index):
            self.use("type" if self.tokens[index].is_type_name else "bare", index, self.chain(index))

    def read_names(self, start: int, end: int) -> None:
        """The types in the head of a declaration."""
        for index in range(start, end):
            token = self.tokens[index]
            if token.is_word and token.text not in KEYWORDS and self.text(index - 1) != ".":
                self.read_name(index)

    def read_type(self, index: int) -> int:
        """A type or an extension, to its brace."""
        keyword, index = self.text(index), index + 1
        name, line = self.tokens[index], self.tokens[index].line
        is_private = not self.modifiers(index - 1).isdisjoint(("private", "fileprivate"))
        if keyword == "extension" and not name.is_word:
            path = ("Array",)
            index = self.closing(index, "[", "]")
        elif keyword == "extension":
            path = self.chain(index)
            self.use("type", index, path)
            index += 2 * len(path) - 1
        else:
            path = self.enclosing() + (name.text,)
            index += 1
        start = index
        while self.text(index) not in ("{", ";"):
            index += 1
        inherited = self.inherited(start, index)
        if keyword != "extension":
            self.declarations.append(
                Declaration(self.enclosing(), name.text, True, is_private, line, inherited)
            )
        elif inherited:
            self.declarations.append(Declaration(path, "", False, True, line, inherited))
        scope = Scope(path, is_private and keyword == "extension", keyword == "enum")
        if self.code_depth:
            self.bind(name.text)
        self.scopes.append(scope)
        self.read_names(start, index)
        return index + 1

    def read_function(self, index: int) -> int:
        """A function's head, to its parameters' end: their names are bound, their types are uses."""
        name = self.tokens[index]
        after = index + 1
        if name.text == "func":
            name = self.tokens[after]
            after += 1
        if self.text(after) == "<":
            after = self.closing(after, "<", ">") + 1
        while after < self.count and self.text(after) != "(":
            after += 1
        if self.code_depth == 0:
            self.start_body()
            label = ""
            if name.text in ("init", "subscript"):
                label = self.text(after + 1) if self.tokens[after + 1].is_word else "_"
            if name.is_word:
                self.declare(index, Token(f"{name.text}({label}:)" if label else name.text, name.line))
        elif name.is_word:
            self.bind(name.text)
        self.bind_parameters(after)
        self.note_labels(self.closing(after, "(", ")"))
        return index + (2 if name is not self.tokens[index] else 1)

    def read_binding(self, index: int) -> int:
        """A constant or variable: a declaration in a type, a bound name in code."""
        name = self.tokens[index + 1]
        if self.code_depth == 0 and self.text(index - 1) not in ("(", ","):
            self.start_body()
            if name.is_word:
                self.declare(index, name, type=self.type_after(index + 1))
                self.note_labels(index + 2)
            return index + 2
        if name.is_word and self.text(index + 2) in (",", "{", "else") and name.text not in self.body.bound:
            # `if let name` names a member, and binds it from there on.
            self.use("self", index + 1, (name.text,))
        self.bind_pattern(index + 1)
        return index + 2 if name.is_word else index + 1

    def read_case(self, index: int) -> int:
        """The cases of an enum, or a pattern, whose names are bound."""
        if not (self.scope.is_enum and self.code_depth == 0):
            return index + 1
        index += 1
        while self.tokens[index].is_word:
            self.declare(index - 1, self.tokens[index])
            index += 1
            if self.text(index) == "(":
                end = self.closing(index, "(", ")")
                self.read_names(index, end)
                index = end + 1
            if self.text(index) == "=":
                index += 2
            if self.text(index) != ",":
                break
            index += 1
        return index

    # Scopes

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def enclosing(self) -> tuple[str, ...]:
        """The type around this place."""
        return next(scope.path for scope in reversed(self.scopes) if scope.path is not None)

    def start_body(self) -> None:
        self.body = Body()
        self.bodies.append(self.body)

    def enter_code(self, index: int) -> None:
        self.scopes.append(Scope(None))
        self.code_depth += 1
        self.bind_closure(index + 1)

    def leave(self, line: int) -> None:
        if len(self.scopes) == 1:
            raise Unreadable(f"{self.path}:{line}: a brace that nothing opens")
        if self.scopes.pop().path is None:
            self.code_depth -= 1
        elif self.code_depth == 0:
            self.start_body()

    # Names

    def declare(self, index: int, name: Token, is_type: bool = False, type: tuple[str, ...] = ()) -> None:
        """Notes what the keyword at an index declares. An override declares nothing."""
        if self.code_depth:
            self.bind(name.text)
            return
        modifiers = self.modifiers(index)
        if "override" in modifiers:
            return
        is_private = self.scope.is_private or not modifiers.isdisjoint(("private", "fileprivate"))
        self.declarations.append(
            Declaration(
                self.enclosing(), name.text, is_type, is_private, name.line, type=type,
                is_function=self.text(index) in ("func", "init"),
            )
        )

    def bind(self, name: str, type: tuple[str, ...] = ()) -> None:
        """Notes a name that is bound in code; one that is bound to several types has none."""
        self.body.bound[name] = type if self.body.bound.get(name, type) == type else ()

    def use(self, kind: str, index: int, chain: tuple[str, ...]) -> None:
        """Notes a use that begins at an index."""
        use = Use(kind, chain, self.enclosing(), self.tokens[index].line, self.is_call(index))
        if kind == "bare":
            self.body.bare.append(use)
        else:
            self.uses.append(use)

    def bind_parameters(self, index: int) -> None:
        """The names of the parameters in the parentheses at an index."""
        depth = 0
        for place in range(index, self.closing(index, "(", ")")):
            text = self.text(place)
            depth += (text in "([{") - (text in ")]}")
            if text == ":" and depth == 1 and self.tokens[place - 1].is_word:
                self.bind(self.text(place - 1), self.type_after(place - 1))

    def note_labels(self, index: int) -> None:
        """Notes the labels of tuples in a type, such as a property's or a function's result."""
        while (text := self.text(index)) not in ("{", "}", "=", ";", "@"):
            if text in KEYWORDS and text not in ("any", "some", "throws", "async"):
                return
            if self.tokens[index].is_word and self.text(index + 1) == ":" and self.text(index - 1) in ("(", ","):
                self.labels.add(text)
            index += 1

    def bind_closure(self, index: int) -> None:
        """The names that a closure takes or captures, when its head begins at an index."""
        place = index
        while self.text(place) not in ("in", "{", "}", ";", "func", "let", "var", "case", "return", "if", "guard"):
            if place - index > 40 or self.tokens[place].line > self.tokens[index].line + 1:
                return
            place += 1
        if self.text(place) == "in":
            for name in range(index, place):
                if self.tokens[name].is_word and self.text(name - 1) in ("{", "(", ",", "[", "weak", "unowned"):
                    self.bind(self.text(name))

    def bind_pattern(self, index: int) -> None:
        """The names of a pattern: one, or those in parentheses."""
        if self.text(index) in ("let", "var", "case", "await", "try"):
            index += 1
        if self.text(index) == ".":
            index += 2
        if self.text(index) == "(":
            for place in range(index, self.closing(index, "(", ")")):
                if self.tokens[place].is_word and self.text(place - 1) in ("(", ",", ":", "let", "var"):
                    self.bind(self.text(place))
        elif self.tokens[index].is_word:
            self.bind(self.text(index), self.type_after(index))

    def declares_function(self, index: int) -> bool:
        if self.text(index) == "func":
            return True
        return self.code_depth == 0 and self.text(index + 1) in ("(", "<", "?", "!")

"""Swift's grammar, as far as it is needed to tell declarations from uses."""

from tokens import Token, tokens

TYPE_KEYWORDS = {"class", "struct", "enum", "protocol", "actor", "extension"}
MODIFIERS = set(
    """
    public package internal private fileprivate open static class final override mutating nonmutating lazy weak
    unowned required convenience indirect nonisolated dynamic prefix postfix infix isolated borrowing consuming
    optional
    """.split()
)
KEYWORDS = MODIFIERS | TYPE_KEYWORDS - {"actor"} | set(
    """
    as any associatedtype async await break case catch continue default defer deinit do else fallthrough false
    for func get guard if import in init inout is let nil operator repeat rethrows return self Self set some
    subscript super switch throw throws true try typealias var where while willSet didSet
    """.split()
)


class Syntax:
    """A source text's tokens, and questions about the ones at an index."""

    def __init__(self, source: str) -> None:
        found = list(tokens(source))
        self.count = len(found)
        # Semicolons around them, also before the first, for questions about neighbours.
        self.tokens = found + [Token(";", 0)] * 4
        self.texts = [token.text for token in self.tokens]

    def text(self, index: int) -> str:
        return self.texts[index]

    def closing(self, index: int, opening: str, closing: str) -> int:
        """The index of the bracket that closes the one at an index."""
        depth = 0
        while index < self.count:
            depth += (self.text(index) == opening) - (self.text(index) == closing)
            if depth == 0:
                break
            index += 1
        return index

    def end_of_line(self, index: int) -> int:
        line = self.tokens[index].line
        while self.tokens[index].line == line:
            index += 1
        return index

    # Names

    def chain(self, index: int) -> tuple[str, ...]:
        """The names joined by dots that begin at an index, with an initializer's first label."""
        names = [self.text(index)]
        while following := self.joined(index):
            index = following
            names.append(self.name(index))
        if names[-1][0].isupper() and (label := self.first_label(index)):
            names.append(f"init({label}:)")
        return tuple(names)

    def joined(self, index: int) -> int | None:
        """The index of the name that a dot, or `?.` or `!.`, joins to the name at an index."""
        index += 1
        if self.text(index) in ("?", "!") and not self.tokens[index].follows_space:
            index += 1
        if self.text(index) == "." and self.tokens[index + 1].is_word:
            return index + 1
        return None

    def name(self, index: int) -> str:
        """The name of a member that is used, with an initializer's first label."""
        label = self.first_label(index) if self.text(index) == "init" else None
        return f"init({label}:)" if label else self.text(index)

    def first_label(self, index: int) -> str | None:
        """The label of the first argument in the parentheses after an index."""
        if self.text(index + 1) == "(" and self.tokens[index + 2].is_word and self.text(index + 3) == ":":
            return self.text(index + 2)
        return None

    def is_call(self, index: int) -> bool:
        """Whether arguments may follow a chain."""
        while following := self.joined(index):
            index = following
        return self.text(index + 1) in ("(", "{", "<")

    def is_chained(self, index: int) -> bool:
        """Whether a name after a dot belongs to a chain that begins with a name."""
        while self.text(index - 1) == ".":
            before = index - 2
            if self.text(before) in ("?", "!") and not self.tokens[before].follows_space:
                before -= 1
            if not self.tokens[before].is_word:
                return False
            index = before
        return self.text(index) not in KEYWORDS or self.text(index) in ("self", "super", "Self")

    def is_label(self, index: int) -> bool:
        """Whether a name is an argument's or a parameter's label."""
        if self.text(index - 1) not in ("(", ",", "}"):
            return False
        return self.text(index + 1) == ":" or self.text(index + 2) == ":" and self.tokens[index + 1].is_word

    def is_type_declaration(self, index: int) -> bool:
        following = self.tokens[index + 1]
        if self.text(index) == "extension" and following.text == "[":
            return True
        is_name = following.is_word and following.text not in KEYWORDS
        return is_name and self.text(index + 2) in ("{", ":", "<", ".", "where")

    # Heads of declarations

    def modifiers(self, index: int) -> set[str]:
        """The modifiers before a keyword. Not among them is `private(set)`."""
        found: set[str] = set()
        while True:
            index -= 1
            if self.text(index) == ")":
                while index > 0 and self.text(index) != "(":
                    index -= 1
                index -= 1
                if self.text(index - 1) == "@":
                    index -= 1
            elif self.text(index) in MODIFIERS:
                found.add(self.text(index))
            elif self.text(index - 1) == "@":
                index -= 1
            else:
                return found

    def inherited(self, start: int, end: int) -> tuple[tuple[str, ...], ...]:
        """The types after the colon of a type's head."""
        names = []
        depth = 0
        begun = False
        for place in range(start, end):
            text = self.text(place)
            depth += (text in ("<", "(")) - (text in (">", ")"))
            if text == "where":
                break
            if begun and self.tokens[place].is_type_name and depth == 0 and self.text(place - 1) != ".":
                names.append(self.chain(place))
            begun = begun or (text == ":" and depth == 0)
        return tuple(names)

    def type_after(self, index: int) -> tuple[str, ...]:
        """The written type of the name at an index: as `name: Type` or `name = Type(`."""
        if self.text(index + 1) == ":":
            place = index + 2
            if self.text(place) == "(" and self.text(place + 1) in ("any", "some"):
                place += 1
            while self.text(place) in ("any", "some", "inout", "borrowing", "consuming", "sending"):
                place += 1
            if self.tokens[place].is_type_name and self.text(self.chain_end(place)) not in ("<", "&"):
                return self.type_chain(place)
        elif self.text(index + 1) == "=" and self.tokens[index + 2].is_type_name:
            if self.text(self.chain_end(index + 2)) == "(":
                return self.type_chain(index + 2)
        return ()

    def type_chain(self, index: int) -> tuple[str, ...]:
        names = [self.text(place) for place in range(index, self.chain_end(index), 2)]
        return tuple(names) if all(name[0].isupper() for name in names) else ()

    def chain_end(self, index: int) -> int:
        while self.text(index + 1) == "." and self.tokens[index + 2].is_word:
            index += 2
        return index + 1

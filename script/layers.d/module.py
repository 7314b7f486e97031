"""A module's folders, and the uses in one folder of declarations in another."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common import COMMON
from source import SourceFile, Use

Names = tuple[str, ...]
"""A type's name, preceded by those of the types around it."""


@dataclass(frozen=True)
class Place:
    """The place of a declaration."""

    folder: str
    file: Path
    owner: Names
    name: str
    is_private: bool
    type: Names
    is_function: bool


@dataclass(frozen=True)
class Edge:
    """A file of one folder names a declaration of another."""

    file: Path
    line: int
    folder: str
    used: str
    declaration: str


@cache
def read(path: Path) -> SourceFile:
    """A file that several modules may ask for."""
    return SourceFile(path, path.read_text(encoding="utf-8"))


class Module:
    """The declarations of a module's files, and those of their uses that mean a declaration in another folder.

    A name alone tells little, so a member counts where its receiver's type is written nearby, or where one folder only
    has any member of that name: a use may be missed, but what is reported is one.
    """

    def __init__(self, directory: Path) -> None:
        self.files: dict[Path, SourceFile] = {}
        self.folders: dict[Path, str] = {}
        self.members: dict[tuple[Names, str], list[Place]] = defaultdict(list)
        self.types: dict[Names, list[Place]] = defaultdict(list)
        self.inherited: dict[Names, list[Names]] = defaultdict(list)
        # The visible members by name, except those that implement a member that their type inherits.
        self.named: dict[str, list[Place]] = defaultdict(list)
        # Names that mean something else in a file: of private members, and of tuples' elements.
        self.own: dict[Path, set[str]] = defaultdict(set)
        for path in sorted(directory.glob("**/*.swift")):
            self.add(path, path.relative_to(directory))
        self.foreign = self.names_imported(directory.parent)
        for (owner, name), places in self.members.items():
            if not self.is_required_elsewhere(owner, name):
                self.named[name] += [place for place in places if not place.is_private]

    def add(self, path: Path, relative: Path) -> None:
        # A file that lies beside the folders belongs to none.
        folder = relative.parts[0] if len(relative.parts) > 1 else ""
        file = read(path)
        self.files[path] = file
        self.folders[path] = folder
        self.own[path] |= file.labels
        for each in file.declarations:
            own = each.owner + (each.name,) if each.name else each.owner
            if each.is_type or not each.name:
                self.inherited[own] += each.inherited
            if each.name:
                place = Place(folder, path, each.owner, each.name, each.is_private, each.type, each.is_function)
                if each.is_type:
                    self.types[own].append(place)
                else:
                    self.members[each.owner, each.name].append(place)
                    if each.is_private:
                        self.own[path].add(each.name)

    def names_imported(self, sources: Path) -> set[str]:
        """The names that the other modules declare which this one's files import."""
        modules = set().union(*(file.imports for file in self.files.values()))
        paths = [path for module in modules for path in (sources / module).glob("**/*.swift")]
        files = [read(path) for path in paths]
        return {each.name for file in files for each in file.declarations if not each.is_private}

    # Types

    def resolve(self, name: str, scope: Names) -> Names | None:
        """The type that a name means in a type's scope: nested there or in what that inherits, or further outside."""
        for length in range(len(scope), -1, -1):
            for owner in self.ancestry(scope[:length]):
                if owner + (name,) in self.types:
                    return owner + (name,)
        return None

    def resolve_chain(self, chain: Names, scope: Names) -> Names | None:
        path = self.resolve(chain[0], scope)
        for name in chain[1:]:
            path = path + (name,) if path and path + (name,) in self.types else None
        return path

    def ancestry(self, path: Names, seen: tuple[Names, ...] = ()) -> Iterator[Names]:
        """A type and all types that it inherits, as far as they are the module's."""
        yield path
        for chain in self.inherited.get(path, ()):
            if path and chain[-1] != path[-1] and chain not in seen:
                if parent := self.resolve_plain(chain, path[:-1]):
                    yield from self.ancestry(parent, seen + (chain,))

    def resolve_plain(self, chain: Names, scope: Names) -> Names | None:
        for length in range(len(scope), -1, -1):
            if scope[:length] + chain in self.types:
                return scope[:length] + chain
        return None

    def is_required_elsewhere(self, owner: Names, name: str) -> bool:
        """Whether a member implements one that its type inherits."""
        parents = list(self.ancestry(owner))[1:]
        return any((parent, name) in self.members for parent in parents)

    # Uses

    def edges(self) -> Iterator[Edge]:
        for path, file in self.files.items():
            if not (folder := self.folders[path]):
                continue
            for use in file.uses:
                for place, declaration in self.meant(use, path):
                    if place.folder not in ("", folder):
                        yield Edge(path, use.line, folder, place.folder, declaration)

    def meant(self, use: Use, file: Path) -> Iterator[tuple[Place, str]]:
        """The declarations that a use means, as far as names tell."""
        chain = use.chain
        if use.kind == "type":
            yield from self.meant_by_type(chain, use, file)
        elif use.kind == "self":
            yield from self.meant_by_members(use.scope, chain, use, file)
        elif use.kind == "bare":
            owners = [use.scope[:length] for length in range(len(use.scope), -1, -1)]
            owner = next((each for each in owners if self.find(each, chain[0])), None)
            if owner is not None:
                yield from self.meant_by_members(owner, chain, use, file)
            else:
                yield from self.meant_by_names(chain[1:], use, file)
        elif use.receiver:
            receiver = self.resolve_chain(use.receiver, use.scope) or use.receiver
            yield from self.meant_by_members(receiver, chain, use, file)
        else:
            yield from self.meant_by_names(chain, use, file)

    def meant_by_type(self, chain: Names, use: Use, file: Path) -> Iterator[tuple[Place, str]]:
        path = self.resolve(chain[0], use.scope)
        if not path:
            yield from self.meant_by_members(chain[:1], chain[1:], use, file)
            return
        yield from self.single(self.types[path], ".".join(path), file)
        for index, name in enumerate(chain[1:], 1):
            if path + (name,) not in self.types:
                yield from self.meant_by_members(path, chain[index:], use, file)
                return
            path += (name,)
            yield from self.single(self.types[path], ".".join(path), file)

    def meant_by_members(self, owner: Names, chain: Names, use: Use, file: Path) -> Iterator[tuple[Place, str]]:
        """The meaning of the names after a receiver of a known type."""
        if not chain:
            return
        places = self.find(owner, chain[0], use.is_call and len(chain) == 1)
        yield from self.single(places, ".".join(places[0].owner + chain[:1]) if places else "", file)
        if len(chain) == 1:
            return
        types = {(place.type, place.owner) for place in places}
        type, scope = types.pop() if len(types) == 1 else ((), ())
        if type:
            yield from self.meant_by_members(self.resolve_chain(type, scope) or type, chain[1:], use, file)
        else:
            yield from self.meant_by_names(chain[1:], use, file)

    def meant_by_names(self, chain: Names, use: Use, file: Path) -> Iterator[tuple[Place, str]]:
        """The meaning of names whose receiver's type is unknown: a member of that name, if only one folder has any."""
        for index, name in enumerate(chain):
            if name in COMMON or name in self.foreign or name in self.own[file]:
                continue
            is_call = use.is_call and index == len(chain) - 1
            places = self.named.get(name, [])
            if places and (is_call or not all(place.is_function for place in places)):
                yield from self.single(places, ".".join(places[0].owner + (name,)), file)

    def find(self, owner: Names, name: str, is_call: bool = True) -> list[Place]:
        """The members of that name of a type, or of the nearest inherited type that has any.

        Properties go before functions where nothing is called. Of a library's type only what the module's extensions
        declare counts, and none of the initializers.
        """
        if owner and owner not in self.types:
            return [] if name.startswith("init(") else self.members.get((owner, name), [])
        found = [places for each in self.ancestry(owner) if (places := self.members.get((each, name)))]
        if not is_call:
            found.sort(key=lambda places: places[0].is_function)
        return found[0] if found else []

    def single(self, places: list[Place], declaration: str, file: Path) -> Iterator[tuple[Place, str]]:
        """The declaration, if only one folder has any of these."""
        visible = [place for place in places if not place.is_private or place.file == file]
        if len({place.folder for place in visible}) == 1:
            yield visible[0], declaration

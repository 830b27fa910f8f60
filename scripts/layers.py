"""Which folder may include which: the table of docs/architecture.md.

A row names a folder of lib/ and include/regather/, or `tools`, and the folders
and outside libraries that its files may include. MLIR stands for LLVM, too, and
all may include Support. A folder without a row belongs to the nearest one above
it that has one. A row may name folders of rows before it only, so that there
are no circles.

What targets of CMake link is held against the same table: a target may link
another one if files of the one may include those of the other. It links, itself
or by way of others, one target at least of each folder that its sources include,
and no target that does not exist, which CMake takes for a library of the system.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from project import CXX_SUFFIXES, ROOT, project_files

PAGE = Path("docs/architecture.md")
HEADING = "## Layers"
# Whatever there is may include it, and no row names it.
BOTTOM = "Support"
# By the first folder of an include, whether in quotes or in angle brackets.
OUTSIDE = {"llvm": "LLVM", "llvm-c": "LLVM", "mlir": "MLIR", "mlir-c": "MLIR",
           "nlohmann": "nlohmann/json", "oneapi": "oneDNN"}
INCLUDE = re.compile(r'^[ \t]*#?[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)',
                     re.MULTILINE)
# What declares a target or adds to what it links.
COMMAND = re.compile(r"\b(regather_add_library|regather_add_plain_library|"
                     r"regather_add_tool|add_library|add_executable|"
                     r"target_link_libraries)\(([^()]*)\)")
CMAKE_COMMENT = re.compile(r"#[^\n]*")
WORD = re.compile(r"[^\s]+")
# After these, words of a command are something else.
KEYWORDS = {"PLAIN", "DEPENDS", "LINK", "ARCHIVES", "PUBLIC", "PRIVATE",
            "INTERFACE", "STATIC", "SHARED", "MODULE", "OBJECT", "ALIAS"}
ROW = re.compile(r"^\| `([^`]+)` \|.*\| ([^|]*)\|$")


@dataclass(frozen=True)
class Layer:
    name: str
    allowed: tuple[str, ...]
    place: str  # file:line


def read_layers() -> list[Layer]:
    layers = []
    inside = False
    for number, line in enumerate((ROOT / PAGE).read_text().splitlines(), 1):
        if line.startswith("## "):
            inside = line == HEADING
        elif inside and (row := ROW.match(line)):
            allowed = tuple(re.findall(r"`([^`]+)`", row[2]))
            layers.append(Layer(row[1], allowed, f"{PAGE}:{number}"))
    return layers


def folder_of(path: Path) -> Path | None:
    """`Analysis/Cost` for a file of lib/ or include/regather/."""
    for root in ("lib", "include/regather"):
        if path.is_relative_to(root):
            return path.relative_to(root).parent
    return path.parent if path.parts[0] == "tools" else None


def layer_of(folder: Path, layers: dict[str, Layer]) -> str | None:
    """The row of the folder or of the nearest folder above it."""
    if folder == Path("."):
        return "." if "." in layers else None
    for one in (folder, *folder.parents):
        if one != Path(".") and str(one) in layers:
            return str(one)
    return None


def included_folder(name: str, path: Path) -> Path | None:
    """The folder of what a file includes; nothing if it is not of ours."""
    if name.startswith("regather/"):
        return Path(name).relative_to("regather").parent
    for base in path.parents:
        # Headers of a library include each other by paths in the library.
        if (ROOT / base / name).is_file():
            return folder_of((ROOT / base / name).resolve().relative_to(ROOT))
    return None


def includes(path: Path) -> Iterator[tuple[int, str, Path | str]]:
    """Line, text and folder, or the name of the library, of each include."""
    text = (ROOT / path).read_text(errors="replace")
    for match in INCLUDE.finditer(text):
        name = match[1] or match[2]
        line = text.count("\n", 0, match.start(1 if match[1] else 2)) + 1
        if (library := OUTSIDE.get(name.split("/")[0])) is not None:
            yield line, name, library
        elif (folder := included_folder(name, path)) is not None:
            yield line, name, folder


@dataclass
class Target:
    place: str  # file:line
    # Declared by a function of ours, which links what it lists and nothing else.
    is_ours: bool
    layers: set[str]
    sources: list[Path]
    links: list[tuple[str, str]]  # place and name


def read_targets(layers: dict[str, Layer]) -> dict[str, Target]:
    """The libraries and programs of lib/ and tools/."""
    targets: dict[str, Target] = {}
    for path in project_files(".txt"):
        if (path.name != "CMakeLists.txt"
                or path.parts[0] not in ("lib", "tools")):
            continue
        text = CMAKE_COMMENT.sub("", (ROOT / path).read_text())
        for command in COMMAND.finditer(text):
            words = [(f"{path}:{text.count(chr(10), 0, match.start()) + 1}",
                      match[0])
                     for match in WORD.finditer(text, *command.span(2))]
            if not words:
                continue
            (place, name), *rest = words
            if command[1] != "target_link_libraries":
                targets.setdefault(name, Target(
                    place, command[1].startswith("regather_"), set(), [], []))
            elif name not in targets:  # A variable.
                continue
            add_words(targets, name, path.parent, rest, layers,
                      is_link=command[1] == "target_link_libraries")
    return targets


def add_words(targets: dict[str, Target], name: str, folder: Path,
              words: list[tuple[str, str]], layers: dict[str, Layer],
              is_link: bool) -> None:
    target = targets[name]
    for place, word in words:
        if word in KEYWORDS:
            is_link = word in ("LINK", "PUBLIC", "PRIVATE", "INTERFACE")
        elif objects := re.fullmatch(r"\$<TARGET_OBJECTS:(\w+)>", word):
            target.layers |= targets[objects[1]].layers
        elif is_link:
            target.links.append((place, word))
        elif word.endswith(CXX_SUFFIXES):
            source = folder_of(folder / word)
            layer = source and layer_of(source, layers)
            if layer:
                target.layers.add(layer)
                target.sources.append(folder / word)


def links_of_one_layer(layers: dict[str, Layer]) -> set[tuple[str, str]]:
    """Which rows link which, where the linked target is all of one row."""
    targets = read_targets(layers)
    return {(layer, *targets[other].layers)
            for target in targets.values() for layer in target.layers
            for _, other in target.links
            if other in targets and len(targets[other].layers) == 1}


def linked_layers(targets: dict[str, Target], name: str) -> set[str]:
    """The rows of what a target links, directly or not."""
    found, pending = {name}, [name]
    while pending:
        for _, other in targets[pending.pop()].links:
            if other in targets and other not in found:
                found.add(other)
                pending.append(other)
    return {layer for one in found for layer in targets[one].layers}


def missing_links(layers: dict[str, Layer], targets: dict[str, Target]
                  ) -> Iterator[str]:
    built = {layer for target in targets.values() for layer in target.layers}
    for name, target in targets.items():
        if not target.is_ours:
            continue
        missing = built - linked_layers(targets, name)
        for path in target.sources:
            for line, text, folder in includes(path):
                if isinstance(folder, Path) and (
                        layer_of(folder, layers) in missing):
                    yield (f"{path}:{line}: includes {text}, but {name} "
                           f"({target.place}) links nothing that is built of "
                           f"{layer_of(folder, layers)}")


def link_findings() -> Iterator[str]:
    layers = {row.name: row for row in read_layers()}
    targets = read_targets(layers)
    yield from missing_links(layers, targets)
    for name, target in targets.items():
        for place, other in target.links:
            if other.startswith("Regather") and other not in targets:
                yield f"{place}: {name} links {other}, which is no target"
        allowed = {BOTTOM, *target.layers}
        for layer in target.layers:
            allowed.update(layers[layer].allowed)
        for place, other in target.links:
            # What a folder declares may be defined in the folders below it.
            if other in targets and not any(
                    str(folder) in allowed
                    for layer in targets[other].layers
                    for folder in (Path(layer), *Path(layer).parents[:-1])):
                yield (f"{place}: {name} links {other}, of which no file may "
                       f"be included by {', '.join(sorted(target.layers))}; "
                       f"see {PAGE}")


def findings() -> Iterator[str]:
    rows = read_layers()
    layers = {row.name: row for row in rows}
    order = {row.name: number for number, row in enumerate(rows)}
    unused = {(row.name, name) for row in rows for name in row.allowed}
    # An engine is declared in front of what defines it, which is linked only.
    unused -= links_of_one_layer(layers)
    filled = set()
    for path in project_files(*CXX_SUFFIXES, ".td", ".def"):
        if (folder := folder_of(path)) is None:
            continue
        layer = layer_of(folder, layers)
        if layer is None:
            yield f"{path}:1: no row of {PAGE} has folder {folder}"
            continue
        filled.add(layer)
        for line, name, target in includes(path):
            other = (target if isinstance(target, str)
                     else layer_of(target, layers))
            allowed = layers[layer].allowed
            if other == BOTTOM or other == "LLVM" and "MLIR" in allowed:
                continue
            unused.discard((layer, str(other)))
            if other not in (None, layer, *allowed):
                yield (f"{path}:{line}: {layer} includes {name} of {other}; "
                       f"{layers[layer].place} does not list it")
    for row in rows:
        if row.name not in filled:
            yield f"{row.place}: there is no folder {row.name}"
        for name in row.allowed:
            if name in layers and order[name] >= order[row.name]:
                yield f"{row.place}: {name} has to stand before {row.name}"
            elif name not in layers and name not in OUTSIDE.values():
                yield f"{row.place}: {name} is neither a folder nor a library"
            elif (row.name, name) in unused:
                yield (f"{row.place}: nothing in {row.name} includes or "
                       f"links {name}")

"""Which folder may include which: the table of docs/architecture.md.

A row names a folder of lib/ and include/regather/, or `tools`, and the folders
and outside libraries that its files may include. MLIR stands for LLVM, too, and
all may include Support. A folder without a row belongs to the nearest one above
it that has one. A row may name folders of rows before it only, so that there
are no circles.
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


def findings() -> Iterator[str]:
    rows = read_layers()
    layers = {row.name: row for row in rows}
    order = {row.name: number for number, row in enumerate(rows)}
    unused = {(row.name, name) for row in rows for name in row.allowed}
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
                yield f"{row.place}: nothing in {row.name} includes {name}"

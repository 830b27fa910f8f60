"""Private names of PyTorch, which stand in files called private.py.

A name is private if it begins with one underscore, or a module of its path does.
What the package names so itself does not count, nor do operators of ATen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from project import ROOT, project_files

PACKAGE = Path("python/regather")
HOME = "private.py"
# The standard library's.
STANDARD = {"_fields_", "_getframe", "_Pointer"}
# What operators are attributes of.
OPERATORS = {"_aten"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own_names(trees: dict[Path, ast.Module]) -> set[str]:
    """Functions, classes and attributes of `self` that the package defines."""
    found = set()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(
                    node.ctx, ast.Store) and is_self(node.value):
                found.add(node.attr)
    return found


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def private_names(tree: ast.Module, own: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of_operators = (isinstance(node.value, ast.Name)
                            and node.value.id in OPERATORS)
            if is_private(node.attr) and not of_operators and not (
                    is_self(node.value) and node.attr in own):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.module and (
                node.module.split(".")[0] == "torch"):
            for name in (*node.module.split("."),
                         *(alias.name for alias in node.names)):
                if is_private(name):
                    yield node.lineno, f"{name} of {node.module}"


def findings() -> Iterator[str]:
    trees = {path: ast.parse((ROOT / path).read_text())
             for path in project_files(".py") if path.is_relative_to(PACKAGE)}
    own = own_names(trees)
    for path, tree in trees.items():
        if path.name == HOME:
            continue
        for line, name in private_names(tree, own):
            if name.split(".")[-1] not in STANDARD:
                yield f"{path}:{line}: {name} is private; it goes to {HOME}"

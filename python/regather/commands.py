"""What the command `regather` does, as functions that return values.

All take a step as the path of a file, as text, or as what `regather.capture`
returns. Keyword arguments are the flags of the command with underscores.
"""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regather.library.errors import Diagnostic, RegatherError
from regather.library.module import Module, Output
from regather.library.module import calibrate as measure_machine
from regather.library.module import list_options

if TYPE_CHECKING:
    from regather.fx.graph import CapturedGraph
    from regather.fx.step import Step

    Source = str | os.PathLike[str] | bytes | CapturedGraph | Step | Module


class Result:
    """What a command tells: its JSON as attributes, and all of it.

    `text` is what the command prints, `html` its page, `warnings` the
    diagnostics of a call that succeeded.
    """

    def __init__(self, output: Output) -> None:
        self.json: dict[str, Any] = json.loads(output.json)
        self.text = output.text
        self.html = output.html
        self.warnings: list[Diagnostic] = output.diagnostics

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["json"][name]
        except KeyError:
            raise AttributeError(
                f"{type(self).__name__} has no '{name}'") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.json]

    def __str__(self) -> str:
        return self.text


class Page(Result):
    """A result that notebooks show as a page."""

    def _repr_html_(self) -> str:
        # A frame keeps the styles of the page from those of the notebook.
        return (f'<iframe srcdoc="{html.escape(self.html)}" width="100%" '
                'height="600" frameborder="0"></iframe>')

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")


class Stats(Result):
    """Counts of `regather stats`."""


class Tree(Result):
    """What each module of the model does, of `regather tree`."""


class Simulation(Page):
    """When everything happens, of `regather simulate`. `trace` is JSON for
    Perfetto."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self.trace = output.trace


class Plan(Page):
    """Meshes from the quickest on, of `regather plan`; `plans[0]["flags"]` are
    options of the others. `problem`, a warning too, says why something could not
    be explained; the plans hold all the same."""


class Report(Page):
    """What is decided about a step, of `regather report`."""

    def __str__(self) -> str:
        return json.dumps(self.json, indent=2)


class Bundle(Result):
    """A file that `regather run` and `regather-run` execute. `json` is its
    manifest, `path` where it lies."""

    def __init__(self, output: Output, path: Path) -> None:
        super().__init__(output)
        self.path = path


class Calibration(Result):
    """This machine as a cluster, of `regather calibrate`."""


def read(source: Source) -> Module:
    """The module of a file, a text, or a capture."""
    if isinstance(source, Module):
        return source
    if isinstance(source, bytes):
        return Module("bytes.mlir", source)
    if isinstance(source, str) and (
            "\n" in source or source.lstrip().startswith(("{", "module"))):
        is_capture = source.lstrip().startswith('{"') or (
            source.lstrip().startswith("{\n"))
        return Module("text.fx.json" if is_capture else "text.mlir",
                      source.encode())
    if isinstance(source, str | os.PathLike):
        return Module(os.fspath(source))
    return _read_capture(source)


def _read_capture(source: Any) -> Module:
    from regather.fx.capture import capture_step
    from regather.fx.graph import CapturedGraph
    from regather.fx.step import Step

    if isinstance(source, Step):
        source = capture_step(source)
    if not isinstance(source, CapturedGraph):
        raise TypeError("expects the path of a file, a text, or what "
                        "regather.capture returns, got "
                        f"{type(source).__name__}")
    return Module("captured.fx.json", "".join(source.lines()).encode())


def _texts(command: str, options: dict[str, Any]) -> list[tuple[str, str]]:
    known = {option["name"].replace("-", "_"): option["name"]
             for option in list_options(command)}
    texts = []
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"unknown option '{name}' of {command}; options are "
                            + (", ".join(known) or "none"))
        values = value if isinstance(value, list | tuple) else [value]
        for each in values:
            if each is not None:
                text = str(each).lower() if isinstance(each, bool) else str(each)
                texts.append((known[name], text))
    return texts


def stats(source: Source, **options: Any) -> Stats:
    """Counts the operations, collectives and parameters of a module."""
    texts = _texts("stats", options)
    return Stats(read(source).run("stats", texts))


def tree(source: Source, **options: Any) -> Tree:
    """What each module of the model does."""
    texts = _texts("tree", options)
    return Tree(read(source).run("tree", texts))


def simulate(source: Source, **options: Any) -> Simulation:
    """Predicts the timeline of a step on a cluster."""
    texts = _texts("simulate", options)
    return Simulation(read(source).run("simulate", texts))


def plan(source: Source, **options: Any) -> Plan:
    """Looks for the quickest mesh of `ranks` ranks."""
    texts = _texts("plan", options)
    return Plan(read(source).run("plan", texts))


def report(source: Source, **options: Any) -> Report:
    """What is decided about a step, and what would help it."""
    texts = _texts("report", options)
    return Report(read(source).run("report", texts))


def calibrate(path: str | os.PathLike[str] | None = None,
              **options: Any) -> Calibration:
    """Measures this machine, in some seconds, and writes it as a cluster file
    for `cluster=`, if there is a path."""
    texts = _texts("calibrate", options)
    # Before long work whose result would be lost.
    if path is not None and not (folder := Path(path).parent).is_dir():
        raise FileNotFoundError(f"cannot write '{path}': there is no folder "
                                f"'{folder}'")
    output = measure_machine(texts)
    if path is not None:
        Path(path).write_text(output.json)
    return Calibration(output)


def compile_bundle(source: Source, path: str | os.PathLike[str],
                   **options: Any) -> Bundle:
    """Compiles a step into the bundle `path`."""
    texts = _texts("compile", options)
    output = read(source).compile(os.fspath(path), texts)
    return Bundle(output, Path(path))


def compile(source: Any, *arguments: Any, **options: Any) -> Any:
    """A bundle of a step, as `compile_bundle` makes it; of an `nn.Module`, the
    training step that `regather.training` makes of it."""
    import sys

    torch = sys.modules.get("torch")
    if torch is None or not isinstance(source, torch.nn.Module):
        return compile_bundle(source, *arguments, **options)
    try:
        from regather.training import compile_step
    except ImportError as error:
        raise RegatherError(
            f"cannot compile training steps with PyTorch {torch.__version__}: "
            f"{error}; expects PyTorch 2.13 to 2.15") from error
    return compile_step(source, *arguments, **options)

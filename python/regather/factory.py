"""Finding and calling the function that makes a model."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from regather.fx.errors import CaptureError
from regather.fx.step import Step


def find(where: str) -> Callable[..., Any]:
    """The function named ``module:function`` or ``path/to/file.py:function``.

    Raises CaptureError if there is none.
    """
    place, colon, name = where.rpartition(":")
    if not colon or not place or not name:
        raise CaptureError(
            f"expects MODULE:FUNCTION or FILE.py:FUNCTION, got '{where}'"
        )
    module = _load_file(place) if place.endswith(".py") else _load_module(place)
    function = getattr(module, name, None)
    if function is None:
        raise CaptureError(f"'{place}' has no function '{name}'")
    if not callable(function):
        raise CaptureError(f"'{name}' of '{place}' is not a function")
    return function


def _load_file(path: str) -> Any:
    if not os.path.isfile(path):
        raise CaptureError(f"no such file: '{path}'")
    name = "regather_model_" + os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    # As for a script, modules beside the file can be imported.
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CaptureError(
            f"cannot load '{path}': {type(error).__name__}: {error}"
        ) from error
    return module


def _load_module(name: str) -> Any:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise CaptureError(
            f"cannot import '{name}': {type(error).__name__}: {error}"
        ) from error


def read_config(text: str) -> dict[str, Any]:
    """A configuration: JSON itself, or the name of a file that holds it.

    Raises CaptureError if it is not a JSON object.
    """
    source = "configuration"
    if not text.lstrip().startswith("{"):
        source = f"'{text}'"
        try:
            with open(text, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CaptureError(f"cannot read {source}: {reason}") from error
    try:
        config = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise CaptureError(f"{source} is not valid JSON: {error}") from error
    if not isinstance(config, dict):
        raise CaptureError(f"{source}: expects a JSON object")
    return config


def _refuse(name: str) -> Any:
    raise ValueError(f"'{name}' is no JSON value")


def make_step(where: str, config: dict[str, Any]) -> Step:
    """Calls a factory and returns the ``Step`` it describes.

    The factory gets the configuration as keyword arguments and returns a
    ``Step``, or ``(model, inputs)``, ``(model, inputs, loss)`` or
    ``(model, inputs, loss, targets)``.
    """
    function = find(where)
    try:
        made = function(**config)
    except CaptureError:
        raise
    except Exception as error:
        raise CaptureError(
            f"'{where}' failed: {type(error).__name__}: {error}"
        ) from error
    if isinstance(made, Step):
        return made
    if not isinstance(made, tuple) or not 2 <= len(made) <= 4:
        raise CaptureError(
            f"expects '{where}' to return (model, inputs[, loss[, targets]]), "
            f"got {type(made).__name__}"
        )
    return Step(*made)

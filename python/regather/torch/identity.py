"""Keys for PyTorch's caches: what our passes decide must be in them."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from regather import library


@cache
def _hash_package() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parent
    for path in sorted([*package.glob("*.py"),
                        *package.parent.glob("library/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def make_uuid(name: str, options: dict[str, Any],
              files: list[Path | None]) -> str:
    """A text that is equal for what decides alike: the build of the library,
    this package, options, and the contents of files."""
    contents = [hashlib.sha256(path.read_bytes()).hexdigest()
                for path in files if path]
    return json.dumps(["regather", name, library.get_build_id(),
                       _hash_package(), options, contents], sort_keys=True)

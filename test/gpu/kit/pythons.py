"""Python environments of this machine: where PyTorch is, and NVIDIA's wheels."""

from __future__ import annotations

import glob
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from processes import ask

# What an environment says about itself. PyTorch is not imported.
QUESTION = """
import importlib.metadata, json, site, sys
sites = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
try:
    torch = importlib.metadata.version("torch")
except importlib.metadata.PackageNotFoundError:
    torch = None
print(json.dumps([sys.prefix, sites, torch]))
"""
PLACES = ("/opt/*/bin/python3", "/opt/*/envs/*/bin/python3",
          "~/.pyenv/versions/*/bin/python3", "~/*conda*/bin/python3",
          "~/*conda*/envs/*/bin/python3", "~/.venv/bin/python3",
          "~/venv/bin/python3")
MOST = 24


@dataclass
class Environment:
    executable: str
    sites: list[str]
    torch: str | None


def candidates() -> list[str]:
    folders = [os.path.join(os.environ[name], "bin")
               for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if name in os.environ]
    folders += os.environ.get("PATH", "").split(os.pathsep)
    paths = [os.path.join(folder, name) for folder in folders if folder
             for name in ("python3", "python")]
    paths.append(sys.executable)
    for place in PLACES:
        paths += sorted(glob.glob(os.path.expanduser(place)))
    return [path for path in dict.fromkeys(paths) if os.access(path, os.X_OK)]


def look_into(executable: str) -> tuple[str, Environment] | None:
    text, _ = ask([executable, "-B", "-c", QUESTION], 20)
    try:
        prefix, sites, torch = json.loads(text)
    except ValueError:
        return None
    return prefix, Environment(executable, [site for site in dict.fromkeys(sites)
                                            if site and Path(site).is_dir()],
                               torch)


def find() -> list[Environment]:
    """In the order in which a shell would find them, each once."""
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(look_into, candidates()[:MOST]))
    environments: dict[str, Environment] = {}
    for one in found:
        if one:
            environments.setdefault(*one)
    return list(environments.values())


def with_torch(environments: list[Environment]) -> Environment | None:
    """The first one; builds for CPUs alone come last."""
    found = [one for one in environments if one.torch]
    return min(found, key=lambda one: "+cpu" in str(one.torch), default=None)

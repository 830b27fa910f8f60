"""Compiles steps into the folder of a kit, and lists what the kit runs.

A case is a dictionary, a line of `cases.json`; `kit/case.py` says what its
fields mean.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Cases:
    """`folder` travels with the kit, `scratch` does not."""
    tools: Path
    folder: Path
    scratch: Path
    target: str
    # Only what stand-ins compute in seconds.
    short: bool
    steps: int = 100
    section: str = ""
    listed: list[dict[str, Any]] = field(default_factory=list)
    bundles: set[str] = field(default_factory=set)

    def call(self, *command: str | Path) -> str:
        return subprocess.run([str(part) for part in command], check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              text=True).stdout

    def compile(self, step: Path, name: str, *flags: str) -> str:
        """A bundle; with a name that was taken before, that one."""
        bundle = f"{name}.rgb"
        if bundle not in self.bundles:
            print(f"compiling {name}", flush=True)
            self.call(self.tools / "regather", "compile", step, "--quiet",
                      f"--target={self.target}", "-o", self.folder / bundle,
                      *flags)
            self.bundles.add(bundle)
        return bundle

    def record(self, step: Path, name: str, steps: int, *flags: str) -> str:
        """The losses of the engine for CPUs."""
        report = json.loads(self.call(
            self.tools / "regather", "run", step, "--quiet", "--json",
            f"--steps={steps}", *flags))
        return self.write_losses(name, report["losses"])

    def write_losses(self, name: str, losses: list[float]) -> str:
        file = f"{name}.losses.json"
        (self.folder / file).write_text(json.dumps(losses))
        return file

    def reaches(self, losses: str, tolerance: float) -> dict[str, Any]:
        """Within a relative tolerance of the losses in a file."""
        return {"kind": "losses", "file": losses, "tolerance": tolerance}

    def near(self, case: str, tolerance: float) -> dict[str, Any]:
        """Within a relative tolerance of the losses of another case."""
        return {"kind": "near", "case": case, "tolerance": tolerance}

    def same(self, case: str) -> dict[str, Any]:
        """The losses and results of another case, bit for bit."""
        return {"kind": "same", "case": case}

    def add(self, name: str, bundle: str, flags: list[str], *,
            check: dict[str, Any] | None = None, kind: str = "run",
            **fields: Any) -> None:
        self.add_case({"kind": kind, "name": name, "bundle": bundle,
                       "flags": flags, "steps": self.steps, "check": check,
                       **fields})

    def add_case(self, case: dict[str, Any]) -> None:
        self.listed.append({"section": self.section, **case})

    def add_graphs(self, step: Path, base: str, flags: list[str],
                   modes: dict[str, str], *options: str,
                   **fields: Any) -> None:
        """The same step with CUDA graphs, bit for bit."""
        for name, mode in modes.items():
            bundle = self.compile(step, f"{base}-{name}", *options,
                                  f"--cuda-graph={mode}")
            self.add(f"{base}-{name}", bundle, flags, check=self.same(base),
                     **fields)

"""The tables of seeded faults.

Each entry of tables/AREA.toml is a fault: in `file`, the text `old` becomes
`new`. `old` stands in the file once, or once in `at`, which stands there once.
`kind` says what the texts are: an `expression`, or `statement`s, which may be
none. `equivalent` says why nothing can tell the fault from the sources; it is
listed, but neither seeded nor counted. `survives` says why the fault is not
caught, where that is known; it is seeded and counted.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = Path(__file__).with_name("tables")
KINDS = ("expression", "statement")


class FaultError(Exception):
    """A fault that cannot be seeded."""


@dataclass(frozen=True)
class Fault:
    name: str
    area: str
    file: str
    old: str
    new: str
    kind: str = "expression"
    at: str = ""
    equivalent: str = ""
    survives: str = ""

    def find(self, text: str) -> int:
        """Where `old` begins in the text of the file."""
        place = 0
        if self.at:
            place = find_once(text, self.at, f"`at` of {self.name}", self.file)
        within = self.at or text
        return place + find_once(within, self.old, f"`old` of {self.name}",
                                 "`at`" if self.at else self.file)

    def digest(self) -> str:
        """What the fault is, whatever is said about it."""
        text = json.dumps([self.file, self.at, self.old, self.new, self.kind])
        return hashlib.sha256(text.encode()).hexdigest()


def find_once(text: str, part: str, what: str, where: str) -> int:
    count = text.count(part) if part else 0
    if count != 1:
        raise FaultError(f"{what} occurs {count} times in {where}, "
                         "expects once")
    return text.index(part)


def read_faults(tables: Path = TABLES) -> list[Fault]:
    """All faults, by area and in the order of their table."""
    faults: dict[str, Fault] = {}
    for table in sorted(tables.glob("*.toml")):
        for name, fields in tomllib.loads(table.read_text()).items():
            try:
                fault = Fault(name, table.stem, **fields)
            except TypeError as error:
                raise FaultError(f"{table}: fault {name}: {error}") from error
            if name in faults:
                raise FaultError(f"two faults are called {name}")
            if fault.kind not in KINDS:
                raise FaultError(f"fault {name}: expects `kind` to be one of "
                                 f"{', '.join(KINDS)}, got {fault.kind}")
            if fault.old == fault.new:
                raise FaultError(f"fault {name} changes nothing")
            faults[name] = fault
    return list(faults.values())

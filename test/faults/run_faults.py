"""Seeds faults in the compiler, one at a time, and counts those that fuzzing
finds.

    ./dev faults

Each fault is a text of a source that becomes another one (faults.toml). The
source is changed, regather-fuzz built, and run until a case finds something; then
the source is as it was. What is done is kept in OUTPUT/results.json, by the texts
and the number of cases, and not done again. Sources with changes that are not
committed are left alone. After an interruption the next run mends the source
first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "fuzz"))
# pylint: disable=wrong-import-position
from campaign import Campaign, WorkerError, run_cases  # noqa: E402
from page import STYLE, table  # noqa: E402

TABLE = Path(__file__).with_name("faults.toml")


class FaultError(Exception):
    """A fault that cannot be seeded."""


@dataclass(frozen=True)
class Fault:
    name: str
    area: str
    file: str
    old: str
    new: str

    @property
    def path(self) -> Path:
        return ROOT / self.file

    def key(self, cases: int, first: int) -> str:
        return json.dumps([self.file, self.old, self.new, cases, first])


def read_faults() -> list[Fault]:
    faults = [Fault(name, **fields) for name, fields in
              tomllib.loads(TABLE.read_text()).items()]
    for fault in faults:
        count = fault.path.read_text().count(fault.old)
        if count != 1:
            raise FaultError(f"{TABLE}: the text of fault {fault.name} occurs "
                             f"{count} times in {fault.file}, expects once")
        if fault.old == fault.new:
            raise FaultError(f"{TABLE}: fault {fault.name} changes nothing")
    return faults


class SeededFault:
    """The changed source, while the context lasts; a copy of what it was lies in
    `journal`, should this process be killed."""

    def __init__(self, fault: Fault, journal: Path) -> None:
        self.fault, self.journal = fault, journal

    def __enter__(self) -> None:
        text = self.fault.path.read_text()
        self.journal.write_text(json.dumps([self.fault.file, text]))
        self.fault.path.write_text(text.replace(self.fault.old, self.fault.new))

    def __exit__(self, *_: object) -> None:
        restore(self.journal)


def restore(journal: Path) -> None:
    if journal.exists():
        file, text = json.loads(journal.read_text())
        (ROOT / file).write_text(text)
        journal.unlink()


def is_committed(file: str) -> bool:
    return subprocess.run(["git", "diff", "--quiet", "HEAD", "--", file],
                          cwd=ROOT, check=False).returncode == 0


def build(build_dir: Path) -> str:
    """What the compiler says if it does not take the fault."""
    result = subprocess.run(
        ["cmake", "--build", build_dir, "--target", "regather-fuzz"],
        capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout[-2000:]


def find_fault(campaign: Campaign) -> dict[str, Any] | None:
    """The first case that finds something."""
    cases = run_cases(campaign)
    try:
        for case in cases:
            # A step that is refused as a whole, but was not before, is one.
            if case["kind"] or case["invalid"]:
                return case
    except WorkerError as error:
        return {"case": campaign.first, "kind": "crash", "message": str(error)}
    return None


def try_fault(fault: Fault, campaign: Campaign, build_dir: Path,
              journal: Path) -> dict[str, Any]:
    begin = time.monotonic()
    with SeededFault(fault, journal):
        said = build(build_dir)
        found = None if said else find_fault(campaign)
    result = {"name": fault.name, "area": fault.area, "file": fault.file,
              "seconds": round(time.monotonic() - begin),
              "outcome": "not built" if said else
              "caught" if found else "survived"}
    if said:
        result["message"] = said
    if found:
        result |= {"case": found["case"], "kind": found["kind"] or "invalid",
                   "message": (found["message"] or found["invalid"])[:300]}
    return result


def write_page(results: list[dict[str, Any]], path: Path) -> None:
    caught = sum(one["outcome"] == "caught" for one in results)
    rows = ((one["area"], one["name"], one["outcome"], one.get("case", ""),
             one.get("kind", ""), one.get("message", "")[:160])
            for one in results)
    path.write_text(
        "<!doctype html><meta charset='utf-8'><title>Seeded faults</title>"
        f"<style>{STYLE}</style><h1>{caught} of {len(results)} faults "
        "caught</h1>" + table(("area", "fault", "outcome", "case", "kind",
                               "message"), rows) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="dev faults", description="Seed faults and count those found.")
    parser.add_argument("names", nargs="*", metavar="FAULT",
                        help="faults to seed (default: all)")
    parser.add_argument("--cases", type=int, default=300,
                        help="at most so many for one fault (default: 300)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("fault-results"))
    parser.add_argument("--build-dir", type=Path, default=Path("build"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    journal = options.output / "journal.json"
    restore(journal)
    known_path = options.output / "results.json"
    known = (json.loads(known_path.read_text()) if known_path.exists() else {})
    try:
        faults = read_faults()
        unknown = set(options.names) - {fault.name for fault in faults}
        if unknown:
            raise FaultError(f"no fault is called {', '.join(sorted(unknown))}")
        chosen = [fault for fault in faults
                  if not options.names or fault.name in options.names]
        for fault in chosen:
            if not is_committed(fault.file):
                raise FaultError(f"{fault.file} has changes that are not "
                                 "committed")
    except FaultError as error:
        print(f"dev faults: {error}", file=sys.stderr)
        return 2
    campaign = Campaign(options.build_dir.resolve() / "bin/regather-fuzz",
                        options.seed, options.cases, options.jobs)
    results = []
    for number, fault in enumerate(chosen, 1):
        key = fault.key(options.cases, options.seed)
        if key not in known:
            known[key] = try_fault(fault, campaign, options.build_dir, journal)
            known_path.write_text(json.dumps(known, indent=1) + "\n")
        results.append(known[key])
        print(f"{number}/{len(chosen)} {fault.name}: {results[-1]['outcome']} "
              f"{results[-1].get('kind', '')}", flush=True)
        write_page(results, options.output / "index.html")
    # What is left in the build folder is the last fault.
    build(options.build_dir)
    survived = [one for one in results if one["outcome"] != "caught"]
    print(f"{len(results) - len(survived)} of {len(results)} faults caught; "
          f"{options.output}/index.html")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())

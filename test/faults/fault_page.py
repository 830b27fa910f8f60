"""What became of the faults, as text and as a page."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
# pylint: disable=wrong-import-position
from page import STYLE, table  # noqa: E402

# By the beginning of what the fuzzer calls a find.
MEANS = {"verify": "verifier", "lowering": "verifier",
         "error without failure": "verifier", "silent failure": "verifier",
         "mismatch": "differential", "failure": "differential",
         "round trip": "differential", "not repeatable": "differential",
         "figures": "figures", "crash": "crash", "hang": "time",
         "refused": "refused"}
COLUMNS = ("verifier", "differential", "figures", "crash", "time", "refused")


def get_means(kind: str) -> str:
    """By what a find of this kind was found."""
    return next(means for start, means in MEANS.items()
                if kind.startswith(start))


def count_by_area(results: list[dict[str, Any]]) -> list[tuple]:
    """A row for each area, and one for all: faults, caught, by what."""
    rows = []
    for area in [*sorted({one["area"] for one in results}), "all"]:
        own = [one for one in results if area in (one["area"], "all")]
        caught = [one for one in own if one["outcome"] == "caught"]
        means = Counter(get_means(one["kind"]) for one in caught)
        rows.append((area, len(own), len(caught),
                     *(means[column] for column in COLUMNS)))
    return rows


def print_table(results: list[dict[str, Any]]) -> None:
    head = ("area", "faults", "caught", *COLUMNS)
    for row in [head, *count_by_area(results)]:
        print(f"{row[0]:10}" + "".join(f"{cell:>13}" for cell in row[1:]))
    for one in results:
        if one["outcome"] != "caught":
            print(f"survived: {one['area']}/{one['name']}, {one['tried']} "
                  f"cases tried: {one['survives'] or 'not explained'}")


def write_page(results: list[dict[str, Any]], path: Path) -> None:
    caught = sum(one["outcome"] == "caught" for one in results)
    rows = ((one["area"], one["name"], one["outcome"], one["reached"],
             one["tried"], one.get("case", ""),
             one.get("kind", ""), one.get("message", one["survives"])[:160])
            for one in results)
    path.write_text(
        "<!doctype html><meta charset='utf-8'><title>Seeded faults</title>"
        f"<style>{STYLE}</style><h1>{caught} of {len(results)} faults "
        "caught</h1>"
        + table(("area", "faults", "caught", *COLUMNS), count_by_area(results))
        + table(("area", "fault", "outcome", "reached", "tried", "case",
                 "kind", "message"), rows) + "\n")

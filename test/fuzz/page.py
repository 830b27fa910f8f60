"""The summary of a campaign as a page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

STYLE = """
body { font: 15px/1.4 sans-serif; max-width: 60em; margin: 2em auto; }
table { border-collapse: collapse; margin-bottom: 2em; }
td, th { padding: .2em .8em; text-align: left; border-bottom: 1px solid #ccc; }
td.n { text-align: right; }
"""
RESULTS = ("changed", "unchanged", "refused")


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    def cell(value: Any) -> str:
        kind = ' class="n"' if isinstance(value, int) else ""
        return f"<td{kind}>{escape(str(value))}</td>"

    lines = ["<table><tr>" + "".join(f"<th>{escape(one)}</th>"
                                     for one in head) + "</tr>"]
    lines += ["<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows]
    return "\n".join(lines) + "</table>"


def by_result(counts: dict[str, dict[str, int]]) -> Iterable[tuple]:
    for name, results in counts.items():
        yield (name, *(results.get(one, 0) for one in RESULTS))


def write_page(summary: dict[str, Any], path: Path) -> None:
    last = summary["first"] + summary["cases"] - 1
    finds = table(("case", "kind", "message"),
                  ((find["case"], find["kind"], find["message"][:300])
                   for find in summary["finds"]))
    parts = [
        "<!doctype html><meta charset='utf-8'><title>Fuzzing</title>",
        f"<style>{STYLE}</style><h1>Cases {summary['first']} to {last}</h1>",
        f"<p>{summary['cases']} cases in {summary['seconds']} s, "
        f"{len(summary['finds'])} finds, {summary['invalid']} steps that "
        "could not be checked.</p>",
        "<h2>Finds</h2>", finds if summary["finds"] else "<p>None.</p>",
        "<h2>Passes</h2>",
        table(("pass", *RESULTS), by_result(summary["passes"])),
        "<h2>Options</h2>",
        table(("option", *RESULTS), by_result(summary["options"])),
        "<h2>Origins</h2>",
        table(("origin", "cases"), summary["origins"].items()),
        "<h2>Why passes refused</h2>",
        table(("reason", "times"), summary["refusals"].items()),
        "<h2>Why steps could not be checked</h2>",
        table(("reason", "times"), summary["invalid_reasons"].items())]
    path.write_text("\n".join(parts) + "\n")

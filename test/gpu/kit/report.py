"""gpu-report.json, and the same on one page of HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import libraries
import machine
from case import Result, Run

FILES = ("gpu-report.json", "gpu-report.html", "gpu-logs.tar.gz")
STYLE = """
body { font: 14px sans-serif; margin: 1.5em; max-width: 75em; }
table { border-collapse: collapse; margin-bottom: 1.5em; }
td, th { text-align: left; padding: 2px 10px; border-bottom: 1px solid #ddd; }
.passed { color: #117733; } .failed { color: #cc3311; font-weight: bold; }
.skipped { color: #777777; }
"""


def count(results: list[Result]) -> dict[str, int]:
    return {status: sum(result.status == status for result in results)
            for status in ("passed", "failed", "skipped")}


def format_figure(name: str, value: Any) -> str:
    if not isinstance(value, (float, int)) or isinstance(value, bool):
        return str(value)
    if name in ("step", "on device") or name.endswith(" time"):
        return f"{value * 1e3:.3f} ms"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def make_rows(results: list[Result]) -> Iterator[str]:
    for result in results:
        text = "; ".join(f"{name}: {format_figure(name, value)}"
                         for name, value in result.figures.items())
        yield (f'<tr><td>{html.escape(result.name)}</td>'
               f'<td class="{result.status}">{result.status}</td>'
               f'<td>{result.seconds:.1f} s</td>'
               f'<td>{html.escape(result.reason or text)}</td></tr>')


def make_page(run: Run, results: list[Result], seconds: float) -> str:
    counts = ", ".join(f'<span class="{status if number else ""}">{number} '
                       f'{status}</span>' for status, number in count(results).items())
    parts = ['<!DOCTYPE html><html lang="en"><meta charset="utf-8">',
             f"<title>Regather on a GPU</title><style>{STYLE}</style>",
             "<h1>Regather on a GPU</h1>",
             f"<p>{counts}, in {seconds:.0f} seconds"
             + (", on stand-ins: figures of time say nothing" if run.stand_in
                else "") + ".</p>", "<ul>"]
    parts += [f"<li>{html.escape(line)}</li>"
              for line in (*machine.lines(run.machine),
                           *libraries.describe(run.libraries))]
    parts.append("</ul>")
    for section in dict.fromkeys(result.section for result in results):
        rows = make_rows([result for result in results
                          if result.section == section])
        parts += [f"<h2>{html.escape(section.capitalize())}</h2><table>",
                  "<tr><th>case</th><th>status</th><th>time</th>"
                  "<th>figures, or the reason</th></tr>", *rows, "</table>"]
    return "\n".join(parts) + "\n"


def write(run: Run, results: list[Result], seconds: float) -> None:
    document = {
        "stand_in": run.stand_in, "seconds": seconds, "machine": run.machine,
        "libraries": [asdict(library) for library in run.libraries.values()],
        "counts": count(results),
        "cases": [asdict(result) for result in results]}
    (run.output / FILES[0]).write_text(json.dumps(document, indent=1) + "\n")
    (run.output / FILES[1]).write_text(make_page(run, results, seconds))

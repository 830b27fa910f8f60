"""The page of `kill_trials.py`: what was done, how long the others took, and what is
wrong."""

from __future__ import annotations

import html
from collections import defaultdict
from pathlib import Path
from typing import Any

STYLE = """
body { font: 15px sans-serif; margin: 2em; max-width: 75em }
table { border-collapse: collapse } td, th { padding: .2em .8em; text-align: left }
tr:nth-child(even) { background: #f3f3f3 } .bad { color: #b00 }
pre { white-space: pre-wrap; font-size: 12px; margin: 0 }
"""


def _row(cells: list[object], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>"
                            for cell in cells) + "</tr>"


def _format_seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"


def write_page(path: Path, summary: dict[str, Any]) -> None:
    by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for trial in summary["trials"]:
        by_kind[f"{trial['communicator']} {trial['fault']}"].append(trial)
    table = [_row(["communicator and fault", "trials", "failed",
                   "longest until the others end"], "th")]
    for kind, trials in sorted(by_kind.items()):
        seconds = [t["seconds"] for t in trials if t["seconds"] is not None]
        table.append(_row([kind, len(trials),
                           sum(bool(t["problems"]) for t in trials),
                           _format_seconds(max(seconds, default=None))]))
    rows = [_row(["trial", "communicator", "ranks", "fault", "rank", "at",
                  "others end", "goes on behind step", "problems"], "th")]
    for t in summary["trials"]:
        rows.append(_row([t["number"], t["communicator"], t["ranks"], t["fault"],
                          t["victim"], t["at"], _format_seconds(t["seconds"]),
                          t["resumed"] or "", "; ".join(t["problems"])]))
    said = "".join(
        f"<h3>Trial {t['number']}</h3><pre>"
        f"{html.escape(chr(10).join(t['messages']))}</pre>"
        for t in summary["trials"] if t["problems"])
    path.write_text(
        f"<!doctype html><meta charset=utf-8><title>Kill trials</title>"
        f"<style>{STYLE}</style><h1>Kill trials</h1>"
        f"<p>{len(summary['trials'])} trials of seed {summary['seed']} on "
        f"{summary['date']}, {summary['cores']} cores, load "
        f"{summary['load']:.1f} at the end. "
        f"<span class={'bad' if summary['failed'] else 'good'}>"
        f"{summary['failed']} failed.</span></p>"
        f"<table>{''.join(table)}</table><h2>All trials</h2>"
        f"<table>{''.join(rows)}</table>"
        f"{'<h2>What ranks said where something is wrong</h2>' if said else ''}"
        f"{said}\n")

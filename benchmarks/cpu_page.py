"""The page of the benchmark `cpu`: plots, and what its table says."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import plots

STYLE = """
body { margin: 0 auto; padding: 28px; max-width: 1200px; color: #1c2430;
  font: 15px/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { border-bottom: 1px solid #e3e8ef; padding: 4px 10px 4px 0;
  text-align: right; vertical-align: top; }
th:first-child, td:first-child, td.text { text-align: left; }
.slow { color: #b45309; } svg { width: 100%; height: auto; }
code { font-size: 12.5px; overflow-wrap: anywhere; }
"""
HEAD = ("", "ms a step", "compiled", "eager", "time / best", "MB",
        "bytes / best", "loss", "kernels", "three slowest")


def draw(folder: Path, results: dict[Any, Any]) -> list[Path]:
    """Time and memory, against the better of PyTorch's two ways."""
    groups = [str(case).replace(" ", "\n") for case in results]
    inches = max(7, 0.9 * len(groups))
    time = {"regather": [r.median("regather") / r.best
                         for r in results.values()]}
    memory = {"regather": [r.peak["regather"]
                           / min(r.peak["compiled"], r.peak["eager"])
                           for r in results.values()]}
    return [plots.bars(name, title, "ratio", groups, series, line=1,
                       inches=inches, folder=folder)
            for name, title, series in (
                ("time", "Time of a step, over PyTorch's faster way", time),
                ("memory", "Peak bytes, over PyTorch's smaller", memory))]


def row(case: Any, result: Any) -> str:
    ours, peak = result.median("regather"), result.peak
    ratios = (ours / result.best,
              peak["regather"] / min(peak["compiled"], peak["eager"]))
    shown = [f"<b class=\"{'slow' if ratio > 1 else ''}\">{ratio:.2f}</b>"
             for ratio in ratios]
    cells = [str(case), f"{ours * 1e3:.2f}",
             f"{result.median('compiled') * 1e3:.2f}",
             f"{result.median('eager') * 1e3:.2f}", shown[0],
             f"{peak['regather'] / 1e6:.1f}", shown[1],
             f"{result.difference:.1e}"]
    kinds = "<br>".join(f"{kind} {share:.0%}"
                        for kind, share in result.shares.items())
    slowest = "<br>".join(f"<code>{html.escape(str(each))}</code>"
                          for each in result.slowest)
    return ("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells)
            + f'<td class="text">{kinds}</td><td class="text">{slowest}</td>'
            "</tr>")


def write_page(folder: Path, header: str, results: dict[Any, Any]) -> Path:
    """Returns the file; the plots lie beside it, too."""
    pictures = "".join(re.sub(r"(?s)^.*?(?=<svg)", "", path.read_text())
                       for path in draw(folder, results))
    head = "".join(f"<th>{title}</th>" for title in HEAD)
    rows = "\n".join(row(case, result) for case, result in results.items())
    page = folder / "index.html"
    page.write_text(
        f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        f"<title>Training steps on CPUs</title><style>{STYLE}</style></head>"
        f"<body><h1>Training steps on CPUs</h1><p>{html.escape(header)}</p>"
        f"{pictures}<table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n"
        "</tbody></table></body></html>\n")
    return page

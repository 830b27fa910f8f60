"""Plots of benchmarks as SVG files under docs/benchmarks/.

The same numbers give the same bytes, so that a plot changes only with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.hashsalt": "regather", "svg.fonttype": "none",
                        "font.family": "sans-serif", "font.size": 10}

from matplotlib import pyplot  # noqa: E402

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
COLORS = ("#1f5fa8", "#e08a1e", "#8a8a8a", "#4c9a5b")


def save(figure: pyplot.Figure, name: str, folder: Path = FOLDER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)
    return path


def bars(name: str, title: str, unit: str, groups: Sequence[str],
         series: Mapping[str, Sequence[float]], line: float | None = None,
         inches: float = 7, folder: Path = FOLDER) -> Path:
    """One group of bars for each of `groups`, a bar in it for each series; a
    dashed line marks a goal."""
    figure, axes = pyplot.subplots(figsize=(inches, 3.2))
    width = 0.8 / len(series)
    for i, (label, values) in enumerate(series.items()):
        places = [g + (i - (len(series) - 1) / 2) * width
                  for g in range(len(groups))]
        drawn = axes.bar(places, values, width, label=label, color=COLORS[i])
        axes.bar_label(drawn, fmt="%.2f", fontsize=8)
    if line is not None:
        axes.axhline(line, color="#444444", linestyle="--", linewidth=0.8)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return save(figure, name, folder)


def lines(name: str, title: str, x_label: str, y_label: str,
          series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
          ) -> Path:
    """Curves through measured points, on logarithmic axes: a straight line of
    slope 1 is linear growth."""
    figure, axes = pyplot.subplots(figsize=(7, 3.6))
    for i, (label, (x, y)) in enumerate(series.items()):
        axes.plot(x, y, marker="o", label=label, color=COLORS[i])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title)
    axes.grid(True, which="both", linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return save(figure, name)


def panels(name: str, title: str, x_label: str, y_label: str,
           contents: Mapping[str, Mapping[str, tuple[Sequence[float],
                                                     Sequence[float]]]]
           ) -> Path:
    """Curves in panels side by side, each from zero on."""
    figure, row = pyplot.subplots(1, len(contents), figsize=(9, 3.6))
    for axes, (label, series) in zip(row, contents.items()):
        for i, (each, (x, y)) in enumerate(series.items()):
            axes.plot(x, y, marker="o", markersize=4, label=each,
                      color=COLORS[i], linestyle="-" if i == 0 else "none")
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_title(label, fontsize=10)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(True, linewidth=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.suptitle(title)
    figure.tight_layout()
    return save(figure, name)


def frontiers(name: str, models: Mapping[str, Mapping[str, Any]]) -> Path:
    """A panel for each model: bytes against seconds of the choices than which
    none is both smaller and quicker, above the bound."""
    figure, axes = pyplot.subplots(2, (len(models) + 1) // 2, squeeze=False,
                                   figsize=(9, 6.4))
    for panel, model in zip(axes.flat, models.values()):
        frontier = model["frontier"]
        panel.step([choice["bytes"] / 1e9 for choice in frontier],
                   [choice["seconds"] * 1e3 for choice in frontier],
                   where="post", color=COLORS[0], linewidth=1)
        for away, color, label in ((False, COLORS[0], "on the device"),
                                   (True, COLORS[1], "some on the host")):
            points = [choice for choice in frontier
                      if (choice["host_bytes"] > 0) == away]
            panel.plot([choice["bytes"] / 1e9 for choice in points],
                       [choice["seconds"] * 1e3 for choice in points],
                       "o", color=color, label=label)
        usual = model["usual"]
        panel.plot(usual["bytes"] / 1e9, usual["seconds"] * 1e3, "x",
                   color=COLORS[2], label="without a limit")
        panel.axhline(model["bound_seconds"] * 1e3, color="#444444",
                      linestyle="--", linewidth=0.8)
        panel.set_title(f"{model['title']}, {model['ranks']} ranks")
        panel.set_xlabel("GB on each rank")
        panel.set_ylabel("ms a step, simulated")
        panel.set_ylim(0, 1.08 * panel.get_ylim()[1])
        panel.spines[["top", "right"]].set_visible(False)
    for panel in axes.flat[len(models):]:
        panel.set_visible(False)
    axes.flat[0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return save(figure, name)

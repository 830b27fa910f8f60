"""regather simulate on a captured model: what it writes fits together."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from regather_tools import ROOT, run_tool

STEP = ROOT / "examples" / "llama3-debug.fx.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one simulation writes."""
    folder = tmp_path_factory.mktemp("simulate")
    result = simulate(folder, f"--trace={folder / 'trace.json'}",
                      f"--timeline={folder / 'page.html'}")
    assert result.code == 0, result.stderr
    return folder


def simulate(folder: Path, *arguments: str) -> Any:
    return run_tool("regather", "simulate", STEP, "--mesh=dp:4",
                    "--plan=as-captured", "--cluster=h100-8",
                    f"--json={folder / 'numbers.json'}", *arguments)


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def bytes_at(numbers: Any, name: str) -> int:
    return next(op["bytes_in_use"] for op in numbers["ops"]
                if op["name"] == name)


def test_numbers_add_up(folder: Path) -> None:
    numbers = read(folder / "numbers.json")
    ops = numbers["ops"]
    waits = [op for op in ops if op["kind"] == "wait"]
    busy = sum(op["end"] - op["begin"] for op in ops if op["kind"] == "compute")
    exposed = sum(op["end"] - op["begin"] for op in waits)
    assert busy == pytest.approx(numbers["compute_seconds"])
    assert exposed == pytest.approx(numbers["exposed_seconds"])
    assert busy + exposed == pytest.approx(numbers["seconds"])
    assert numbers["lower_bounds"]["seconds"] <= numbers["seconds"]
    assert max(op["bytes_in_use"] for op in ops) == numbers["peak_bytes"]
    # A wait ends when its collective has.
    ends = {op["name"]: op["end"] for op in ops}
    assert waits
    assert all(op["end"] >= ends[op["collective"]] for op in waits)


def test_trace_has_one_thing_at_a_time(folder: Path) -> None:
    numbers = read(folder / "numbers.json")
    events = read(folder / "trace.json")["traceEvents"]
    threads: dict[int, list[Any]] = {}
    for event in events:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append(event)
    assert len(threads) >= 2
    for boxes in threads.values():
        for first, second in pairwise(boxes):
            # Times are written to a nanosecond.
            assert first["ts"] + first["dur"] <= second["ts"] + 0.002
    last = max(e["ts"] + e["dur"] for e in events if e["ph"] == "X")
    assert last == pytest.approx(numbers["seconds"] * 1e6, abs=0.01)
    memory = [e["args"]["bytes"] for e in events if e["ph"] == "C"]
    assert max(memory) == numbers["peak_bytes"]


def test_page_is_complete(folder: Path) -> None:
    page = (folder / "page.html").read_text()
    assert not re.search(r"(src|href)=", page)
    marks = re.search(r'class="marks">(.*?)</script>', page)
    assert marks
    names = json.loads(marks.group(1))
    places = [int(i) for i in re.findall(r'data-i="(\d+)"', page)]
    assert places == list(range(len(names)))


def test_same_order_same_times(folder: Path, tmp_path: Path) -> None:
    numbers = read(folder / "numbers.json")
    order = tmp_path / "order.json"
    names = [op["name"] for op in numbers["ops"]]
    order.write_text(json.dumps(names))
    assert simulate(tmp_path, f"--order={order}").code == 0
    assert read(tmp_path / "numbers.json") == numbers

    # All gathers of parameters first: they hide, and take memory.
    gathers = [op["name"] for op in numbers["ops"] if op["op"] == "tg.all_gather"]
    order.write_text("\n".join(gathers + [n for n in names if n not in gathers]))
    result = simulate(tmp_path, f"--order={order}")
    assert result.code == 0, result.stderr
    early = read(tmp_path / "numbers.json")
    assert early["exposed_seconds"] < numbers["exposed_seconds"]
    first = next(op["name"] for op in early["ops"] if op["kind"] == "compute")
    assert bytes_at(early, first) > bytes_at(numbers, first)

    order.write_text("\n".join(reversed(names)))
    result = simulate(tmp_path, f"--order={order}")
    assert result.code == 1
    assert "which it needs" in result.stderr

"""`regather report`: the page is well-formed and stands alone, and its numbers
are those of the other commands."""

from __future__ import annotations

import html
import json
import re
import shlex
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from regather_tools import ROOT, Result, run_tool

STEP = ROOT / "examples" / "llama3-debug.fx.json"
FLAGS = ("--mesh=dp:4", "--bucket=none", "--schedule=none", "--policy=selective", "--reshard=default",
         "--optimizer=adamw betas=0.9,0.95")
# The same passes, one after the other.
PIPELINE = ("--regather-training-pipeline=mesh=dp:4 policy=selective "
            "reshard=default recompute=min-cut bucket=none schedule=none "
            "optimizer={adamw betas=0.9,0.95} lower=false")
UNDECIDED = ("--regather-training-pipeline=mesh=dp:4 plan=as-captured "
             "optimizer={adamw betas=0.9,0.95} lower=false")
TOTALS = ("saved_bytes", "gathered_bytes_across_boundary", "recomputed_flops")
WITHOUT_END = {"meta", "br", "link", "img", "input"}


@dataclass
class Written:
    html: str
    numbers: dict[str, Any]
    directory: Path


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Written:
    directory = tmp_path_factory.mktemp("report")
    result = run_tool("regather", "report", STEP, *FLAGS, "-o",
                      directory / "report.html", "--json",
                      directory / "report.json")
    assert result.code == 0, result.stderr
    assert result.stdout == b"" and result.stderr == ""
    assert sorted(path.name for path in directory.iterdir()) == \
        ["report.html", "report.json"]
    return Written((directory / "report.html").read_text(),
                   json.loads((directory / "report.json").read_text()),
                   directory)


class Page(HTMLParser):
    """Checks that every element ends, and collects what leads elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str,
                        attrs: list[tuple[str, str | None]]) -> None:
        if tag not in WITHOUT_END:
            self.open.append(tag)
        self.note(attrs)

    def handle_startendtag(self, tag: str,
                           attrs: list[tuple[str, str | None]]) -> None:
        self.note(attrs)

    def note(self, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names))
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name == "href":
                self.links.append(value)
            elif name in ("src", "srcset", "data", "xlink:href"):
                self.sources.append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open.pop() == tag


def test_page_is_well_formed(report: Written) -> None:
    page = Page(report.html)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.links and all(
        link.startswith("#") and link[1:] in page.ids for link in page.links)


def test_page_stands_alone(report: Written) -> None:
    assert Page(report.html).sources == []
    assert "http" not in report.html and "@import" not in report.html
    assert "url(" not in report.html


def test_page_shows_decisions(report: Written) -> None:
    for text in ("layers.*", "gathered again", "backward begins with its unit",
                 "before the passes", "after the passes", "aten.mm.default"):
        assert text in report.html
    # Names come from files; they are no markup.
    assert "<selective" not in report.html


def stats_after(pipeline: str, directory: Path) -> dict[str, Any]:
    imported = directory / "imported.mlir"
    result = run_tool("regather-translate", "--import-fx", STEP, "-o", imported)
    assert result.code == 0, result.stderr
    result = run_tool("regather-opt", imported, pipeline, "-o",
                      directory / "step.mlir")
    assert result.code == 0, result.stderr
    result = run_tool("regather", "stats", directory / "step.mlir", "--json")
    assert result.code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("state, pipeline", [("after", PIPELINE),
                                             ("before", UNDECIDED)])
def test_totals_are_those_of_stats(report: Written, tmp_path: Path, state: str,
                                   pipeline: str) -> None:
    stats = stats_after(pipeline, tmp_path)
    numbers = report.numbers[state]
    assert {name: numbers[name] for name in TOTALS} == \
        {name: stats[name] for name in TOTALS}
    assert sum(group["bytes"] for group in numbers["collectives"]) == \
        stats["collective_bytes"]
    assert report.numbers["parameters"] == stats["parameters"]


@pytest.mark.parametrize("state", ["before", "after"])
def test_rows_add_up(report: Written, state: str) -> None:
    numbers = report.numbers[state]
    kept = sum(parameter["kept_bytes"]
               for parameter in numbers["gathered_parameters"])
    saved = sum(value["bytes"] for value in numbers["saved_values"])
    assert kept == numbers["gathered_bytes_across_boundary"]
    assert kept + saved == numbers["saved_bytes"]
    assert sum(op["flops"] for op in numbers["recomputed_ops"]) == \
        pytest.approx(numbers["recomputed_flops"])


def test_decisions_have_reasons(report: Written) -> None:
    parameters = {parameter["name"]: parameter for parameter
                  in report.numbers["after"]["gathered_parameters"]}
    layer = parameters["layers.0.matrices"]
    assert layer["decision"] == "gathered again"
    assert "layers.0.attention.wq.weight" in layer["members"]
    assert layer["kept_bytes"] == 0
    assert layer["regathered_bytes"] == \
        layer["gathered_bytes"] - layer["shard_bytes"]
    head = parameters["norm.matrices"]
    assert head["decision"] == "kept"
    assert head["reason"] == "backward begins with its unit"
    assert head["kept_bytes"] == head["gathered_bytes"]
    embedding = parameters["embedding.matrices"]
    assert embedding["decision"] == "released"
    assert all(value["reason"] for value
               in report.numbers["after"]["saved_values"])


@pytest.mark.parametrize("state, flags", [
    ("after", FLAGS), ("before", (FLAGS[0], FLAGS[-1], "--plan=as-captured"))])
def test_memory_is_that_of_a_run(report: Written, state: str,
                                 flags: tuple[str, ...]) -> None:
    result = run_tool("regather", "run", STEP, *flags, "--random-inputs=1",
                      "--learning-rate=1e-3", "--json", "--quiet", timeout=60)
    assert result.code == 0, result.stderr
    ran = json.loads(result.stdout)
    memory = report.numbers[state]["memory"]
    assert memory["arena_bytes"] == ran["arena"]["planned_bytes"]
    assert memory["arena_bytes"] + memory["argument_bytes"] == \
        ran["peak_bytes_per_rank"]
    # What lies between buffers is not in use.
    assert ran["arena"]["lower_bound_bytes"] * 0.999 < \
        memory["peak_bytes"] - memory["argument_bytes"] <= \
        ran["arena"]["lower_bound_bytes"]


@pytest.mark.parametrize("state", ["before", "after"])
def test_curve(report: Written, state: str) -> None:
    memory = report.numbers[state]["memory"]
    uses = memory["bytes"]
    totals = [sum(bytes_) for bytes_ in zip(*uses.values(), strict=True)]
    assert max(totals) == memory["peak_bytes"] == \
        totals[memory["peak_instruction"]]
    assert all(total >= 0 for use in uses.values() for total in use)
    assert set(uses["arguments"]) == {memory["argument_bytes"]}
    places = [(phase["begin"], phase["end"]) for phase in memory["phases"]]
    assert [phase["name"] for phase in memory["phases"]][:2] == \
        ["forward", "backward"]
    assert places[0][0] == 0 and places[-1][1] == len(totals)
    assert all(a[1] == b[0] for a, b in zip(places, places[1:]))
    backward = memory["phases"][1]["begin"]
    # Forward saves, and has no gradients.
    assert uses["saved for backward"][backward] > 0
    assert not any(uses["gradients"][:backward])
    assert uses["gathered parameters"][backward] > 0 or state == "after"


def test_passes_lower_the_peak(report: Written) -> None:
    before, after = (report.numbers[state]["memory"]
                     for state in ("before", "after"))
    assert after["peak_bytes"] < 0.7 * before["peak_bytes"]


def simulate(directory: Path, *flags: str) -> dict[str, Any]:
    """The same kernels, by the other command."""
    numbers = directory / "numbers.json"
    result = run_tool("regather", "simulate", STEP, *flags, "--kernels",
                      f"--json={numbers}")
    assert result.code == 0, result.stderr
    return json.loads(numbers.read_text())


@pytest.mark.parametrize("key, flags", [
    ("timing", FLAGS), ("timing_before", (FLAGS[0], FLAGS[-1],
                                          "--plan=as-captured"))])
def test_times_are_those_of_the_simulation(
        report: Written, tmp_path: Path, key: str,
        flags: tuple[str, ...]) -> None:
    timing = report.numbers[key]
    simulated = simulate(tmp_path, *flags)
    assert timing["cluster"] == simulated["cluster"] == "h100-8"
    for name in ("seconds", "exposed_seconds", "peak_bytes", "hidden_part"):
        assert timing[name] == pytest.approx(simulated[name]), name
    assert max(timing["lower_bounds"].values()) == pytest.approx(
        simulated["lower_bounds"]["seconds"])
    # Waits of one collective behind the other add up.
    assert sum(collective["exposed_seconds"] for collective
               in timing["collectives"]) == pytest.approx(
                   timing["exposed_seconds"])
    assert all(bool(collective["reason"]) == (collective["exposed_seconds"] > 0)
               for collective in timing["collectives"])


def test_advice_holds(report: Written, tmp_path: Path) -> None:
    """What a change is said to give is what it gives."""
    timing = report.numbers["timing"]
    advice = report.numbers["advice"]
    assert any("--schedule=auto" in entry["flags"] for entry in advice)
    for entry in advice:
        gain = timing["seconds"] - entry["seconds"] / entry["batches"]
        assert gain > 0.01 * timing["seconds"] or \
            entry["peak_bytes"] < timing["peak_bytes"]
        if not entry["flags"]:
            assert entry["formula"]
            continue
        changed = shlex.split(entry["flags"])
        names = {flag.split("=")[0] for flag in changed
                 if not flag.startswith("--pass-option")}
        kept = [flag for flag in FLAGS if flag.split("=")[0] not in names]
        simulated = simulate(tmp_path, *kept, *changed)
        assert entry["seconds"] == pytest.approx(simulated["seconds"])
        assert entry["peak_bytes"] == simulated["peak_bytes"]
        assert html.escape(entry["title"], quote=False) in report.html


def test_defaults_are_the_best_plan_known(tmp_path: Path) -> None:
    """Whatever is quicker takes more memory, or changes the work."""
    result = run_tool("regather", "report", STEP, "--mesh=dp:4", "--json",
                      tmp_path / "numbers.json")
    assert result.code == 0, result.stderr
    report = json.loads((tmp_path / "numbers.json").read_text())
    timing = report["timing"]
    assert timing["seconds"] < report["timing_before"]["seconds"]
    assert [entry["title"] for entry in report["advice"]
            if entry["seconds"] / entry["batches"] < timing["seconds"] and
            entry["peak_bytes"] <= timing["peak_bytes"]] == []


def get_advice(tmp_path: Path, *flags: str) -> str:
    result = run_tool("regather", "report", STEP, *flags, "--json",
                      tmp_path / "numbers.json")
    assert result.code == 0, result.stderr
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    return " ".join(entry["flags"] for entry in numbers["advice"])


def test_advice_applies(tmp_path: Path) -> None:
    """Nothing about nodes in one node, nothing that is done already."""
    one = get_advice(tmp_path, "--mesh=dp:4")
    assert "--replicate-axis" not in one and "group=" not in one
    several = get_advice(tmp_path, "--mesh=dp:32", "--batch=per-rank",
                         "--reshard=default")
    assert "--mesh=replicate:4,dp:8 --replicate-axis=replicate" in several
    hybrid = get_advice(tmp_path, "--mesh=rep:4,dp:8", "--replicate-axis=rep",
                        "--batch=per-rank", "--schedule=auto")
    assert "--replicate-axis" not in hybrid
    assert "--schedule=auto" not in hybrid
    alone = get_advice(tmp_path, "--mesh=dp:1")
    assert not re.search("reshard|schedule|bucket|mesh|micro", alone)


def test_advice_for_a_step_that_does_not_fit(tmp_path: Path) -> None:
    """What fits comes first, and together with what is quicker."""
    cluster = json.loads((ROOT / "clusters" / "h100-8.json").read_text())
    cluster["device"]["memory_bytes"] = 40e6
    (tmp_path / "small.json").write_text(json.dumps(cluster))
    numbers = tmp_path / "numbers.json"
    result = run_tool("regather", "report", STEP, "--mesh=dp:4",
                      "--plan=as-captured", "--cluster", tmp_path / "small.json",
                      "--json", numbers)
    assert result.code == 0, result.stderr
    report = json.loads(numbers.read_text())
    timing, advice = report["timing"], report["advice"]
    assert timing["peak_bytes"] > 40e6
    fits = [entry["peak_bytes"] <= 40e6 for entry in advice]
    assert any(fits) and fits == sorted(fits, reverse=True)
    assert all(entry["peak_bytes"] < 0.8 * timing["peak_bytes"]
               for entry, fit in zip(advice, fits, strict=True) if not fit)
    assert "--schedule=auto" in advice[0]["flags"]
    assert "--policy=" in advice[0]["flags"]


def test_batch_of_one_rank(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = run_tool("regather", "report", STEP, "--mesh=dp:512", "-o", page)
    assert result.code == 0, result.stderr
    assert result.stderr.count("it is taken for that of one rank") == 1
    assert "batch per-rank" in page.read_text()
    assert "h100-nodes" in page.read_text()


def test_compile_writes_the_page(report: Written, tmp_path: Path) -> None:
    result = run_tool("regather", "compile", STEP, *FLAGS, "--report",
                      tmp_path / "report.html", "-o", tmp_path / "step.rgb",
                      "--quiet", timeout=60)
    assert result.code == 0, result.stderr
    assert (tmp_path / "report.html").read_text() == report.html


def test_step_without_communication(tmp_path: Path) -> None:
    page = tmp_path / "mlp.html"
    result = run_tool("regather", "report", ROOT / "examples" / "mlp.mlir",
                      "-o", page)
    assert result.code == 0, result.stderr
    assert Page(page.read_text()).open == []
    assert "The step does not communicate." in page.read_text()


# -----------------------------------------------------------------------------
# What cannot be reported
# -----------------------------------------------------------------------------


@dataclass
class Mistake:
    file: str
    message: str
    arguments: tuple[str, ...] = ("-o", "out.html")
    files: dict[str, str] = field(default_factory=dict)


MISTAKES = {
    "missing": Mistake("missing.mlir", "cannot open input file 'missing.mlir'"),
    "nothing-to-write": Mistake(
        str(STEP), "nothing to write: give -o, --json, or both", ()),
    "no-step": Mistake("empty.mlir", "no public function",
                       files={"empty.mlir": "module {}"}),
    "no-folder": Mistake(str(STEP), "cannot write 'none/out.html'",
                         ("-o", "none/out.html")),
    "no-folder-for-numbers": Mistake(
        str(STEP), "cannot write 'none/out.json'", ("--json", "none/out.json")),
    "a-folder": Mistake(str(STEP), "cannot write '.'", ("-o", ".")),
    "pattern": Mistake(str(STEP), 'pattern "tail" of option \'modules\'',
                       ("-o", "out.html", "--mesh=dp:2",
                        "--reshard=modules=tail:always")),
    "cluster": Mistake(str(STEP), "cannot read cluster file 'h100'",
                       ("-o", "out.html", "--cluster=h100")),
    "pass": Mistake(str(STEP), 'names pass "tg-nothing", which no step goes through',
                    ("-o", "out.html", "--pass-option=tg-nothing:x=1")),
    "option": Mistake(str(STEP),
                      'options for pass "tg-append-optimizer" are given',
                      ("-o", "out.html",
                       "--pass-option=tg-append-optimizer:eps=1")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    for file, text in mistake.files.items():
        (tmp_path / file).write_text(text)
    result = run_tool("regather", "report", mistake.file, *mistake.arguments,
                      cwd=tmp_path)
    check_error(result, mistake.message)
    assert sorted(path.name for path in tmp_path.iterdir()) == \
        sorted(mistake.files)


def test_bundles_are_rejected(tmp_path: Path) -> None:
    bundle = tmp_path / "step.rgb"
    result = run_tool("regather", "compile", ROOT / "examples" / "mlp.mlir",
                      "-o", bundle, "--quiet")
    assert result.code == 0, result.stderr
    result = run_tool("regather", "report", bundle, "-o", tmp_path / "x.html")
    check_error(result, "a report shows a module, not a bundle")


def check_error(result: Result, message: str) -> None:
    assert result.code == 1, result.last_words
    assert "error:" in result.stderr
    assert message in result.stderr

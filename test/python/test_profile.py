"""`regather run --profile`: where the time of a step goes, kernel by kernel.

No time is asserted by itself: only that times add up, and that what they are
divided by is what the step computes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from regather_tools import ROOT, run_tool

STEP = ROOT / "examples" / "mlp-fsdp.mlir"
INPUTS = ("--random-inputs=1", "--quiet")
EMBEDDING = """
func.func @step(%table: tensor<1000x64xf32>, %rows: tensor<8xi64>)
    -> tensor<8x64xf32> {
  %0 = tg.node "aten.embedding.default"(%table, %rows)
      {tg.module = "tokens"}
      : (tensor<1000x64xf32>, tensor<8xi64>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that remembers what the machine reaches."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    path = tmp_path_factory.mktemp("profile") / "step.rgb"
    result = run_tool("regather", "compile", STEP, "-o", path,
                      f"--cache-dir={cache}")
    assert result.code == 0, result.last_words
    return path


@pytest.fixture(scope="module")
def profiled(bundle: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory
             ) -> tuple[dict[str, Any], Path]:
    """The report of two steps of the bundle, and the folder of page and
    trace."""
    folder = tmp_path_factory.mktemp("profiled")
    result = run_tool("regather-run", bundle, *INPUTS, "--steps=2", "--json",
                      f"--profile={folder / 'page.html'}",
                      f"--trace={folder / 'trace.json'}",
                      env={"REGATHER_CACHE_DIR": str(cache)})
    assert result.code == 0, result.last_words
    return json.loads(result.stdout), folder


def test_times_add_up(profiled: tuple[dict[str, Any], Path]) -> None:
    report, folder = profiled
    profile = report["profile"]
    kernels = profile["kernels"]
    total = profile["kernel_seconds"]
    assert sum(k["seconds"] for k in kernels) == pytest.approx(total)
    assert sum(k["share"] for k in kernels) == pytest.approx(1)
    assert sum(k["seconds"] for k in profile["kinds"]) == pytest.approx(total)
    for kernel in kernels:
        places = kernel["places"]
        assert sum(p["seconds"] for p in places) == pytest.approx(
            kernel["seconds"])
        assert sum(p["calls"] for p in places) == kernel["calls"]
    # The second step alone counts, which is the one that the trace shows.
    assert (profile["steps"], profile["leaves_out_first"]) == (1, True)
    spans = [e for e in json.loads((folder / "trace.json").read_text())[
        "traceEvents"] if e["pid"] == profile["rank"] == 0]
    ran = [e for e in spans if e["name"].startswith(
        ("kernel ", "exec.copy", "exec.fill"))]
    assert sum(k["calls"] for k in kernels) == len(ran) > 20
    assert total == pytest.approx(sum(e["dur"] for e in ran) / 1e6)
    assert profile["wait_seconds"] == pytest.approx(
        sum(e["dur"] for e in spans if e.get("cat") == "exposed") / 1e6)
    assert profile["seconds_per_step"] == pytest.approx(
        total + profile["wait_seconds"] + profile["other_seconds"])
    assert profile["other_seconds"] > 0


def test_costs_are_those_of_the_step(
        profiled: tuple[dict[str, Any], Path]) -> None:
    report, _ = profiled
    profile = report["profile"]
    stats = json.loads(run_tool("regather", "stats", STEP, "--json").stdout)
    flops = sum(k["flops"] * k["calls"] for k in profile["kernels"])
    assert flops == sum(stats["flops_by_phase"].values())
    for kernel in profile["kernels"]:
        mean = kernel["seconds"] / kernel["calls"]
        assert kernel["flops_per_second"] == pytest.approx(
            kernel["flops"] / mean)
        assert kernel["bytes_per_second"] == pytest.approx(
            kernel["bytes"] / mean)
        machine = profile["machine"]
        assert kernel["roof_share"] == pytest.approx(max(
            kernel["flops_per_second"] / machine["f32_flops_per_second"],
            kernel["bytes_per_second"] / machine["bytes_per_second"]))
    modules = {p["module"] for k in profile["kernels"] for p in k["places"]}
    assert {"layers.0", "layers.1", "layers.2"} <= modules
    # Each place is a line of the step.
    lines = len(STEP.read_text().splitlines())
    for kernel in profile["kernels"]:
        for place in kernel["places"]:
            found = re.fullmatch(r".*mlp-fsdp\.mlir:(\d+):\d+", place["source"])
            assert found and 0 < int(found[1]) <= lines


def test_the_page_has_all_kernels(
        profiled: tuple[dict[str, Any], Path]) -> None:
    report, folder = profiled
    page = (folder / "page.html").read_text()
    table = page[page.index('<table id="kernels">'):]
    kernels = report["profile"]["kernels"]
    for kernel in kernels:
        assert f"</span>{kernel['name']}</td>" in table
    # A row for each, the head and the foot.
    assert table.count("<tr>") == len(kernels) + 2
    assert page.count("<circle") == sum(k["flops"] > 0 for k in kernels)


def test_the_table_adds_up(bundle: Path, cache: Path) -> None:
    """Modules and bundles; the flag without a file."""
    for command in (("regather", "run", STEP, f"--cache-dir={cache}"),
                    ("regather-run", bundle)):
        result = run_tool(*command, *INPUTS, "--profile",
                          env={"REGATHER_CACHE_DIR": str(cache)})
        assert result.code == 0, result.last_words
        text = result.stdout.decode()
        assert "profile of rank 0 on" in text
        assert "one step, which pays for what is done once" in text
        rows = re.findall(r"^ +([\d.]+) +([\d.]+)% +(\d+) .*? (\S+ \d+|\S.*)$",
                          text[text.index("of roof"):], re.MULTILINE)
        *lines, total = rows
        assert total[1] == "100.0"
        assert sum(int(row[2]) for row in lines) == int(total[2])
        # Each is rounded to a tenth of a microsecond.
        assert sum(float(row[0]) for row in lines) == pytest.approx(
            float(total[0]), abs=len(rows) * 1e-4)


def test_an_embedding_reads_no_more_than_its_rows(tmp_path: Path,
                                                  cache: Path) -> None:
    step = tmp_path / "step.mlir"
    step.write_text(EMBEDDING)
    result = run_tool("regather", "run", step, "--random-inputs=1,integers",
                      "--profile", "--json", f"--cache-dir={cache}")
    assert result.code == 0, result.last_words
    kernel, = json.loads(result.stdout)["profile"]["kernels"]
    rows, indices = 8 * 64 * 4, 8 * 8
    assert kernel["bytes"] <= 2 * rows + 2 * indices < 1000 * 64 * 4
    assert kernel["places"][0]["module"] == "tokens"


def test_rates_are_remembered_and_damage_is_seen(bundle: Path,
                                                 tmp_path: Path) -> None:
    def read_rates() -> dict[str, float]:
        result = run_tool("regather-run", bundle, *INPUTS, "--profile",
                          "--json",
                          env={"REGATHER_CACHE_DIR": str(tmp_path / "new")})
        assert result.code == 0, result.last_words
        return json.loads(result.stdout)["profile"]["machine"]

    first = read_rates()
    assert min(v for k, v in first.items() if k != "processor") > 1e6
    file, = (tmp_path / "new").iterdir()
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"bytes_per_second": 123.0}))
    assert read_rates() == first | {"bytes_per_second": 123.0}
    # The second one nests deeper than the stack is.
    for damaged in (json.dumps(content | {"bytes_per_second": -1}),
                    '{"machine": ' + "[" * 200_000 + "]" * 200_000 + "}"):
        file.write_text(damaged)
        assert read_rates()["bytes_per_second"] > 1e6
        assert json.loads(file.read_text())["bytes_per_second"] > 1e6


def test_rates_that_cannot_be_remembered_are_a_warning(
        bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run_tool("regather-run", bundle, *INPUTS, "--profile", "--json",
                      env={"REGATHER_CACHE_DIR": str(tmp_path / "file" / "x")})
    assert result.code == 0, result.last_words
    assert "cannot remember what the machine reaches" in result.stderr


def test_what_has_no_profile_says_so(bundle: Path, tmp_path: Path) -> None:
    result = run_tool("regather", "run", STEP, *INPUTS, "--profile",
                      "--engine=interpreter")
    assert result.code == 1
    assert "--profile needs the cpu engine" in result.stderr
    gpu = tmp_path / "gpu.rgb"
    result = run_tool("regather", "compile", STEP, "--target=nvptx:sm_90a",
                      "-o", gpu)
    assert result.code == 0, result.last_words
    result = run_tool("regather-run", gpu, *INPUTS, "--profile")
    assert result.code == 1
    assert "--profile needs a bundle for processors" in result.stderr
    missing = tmp_path / "missing" / "page.html"
    result = run_tool("regather-run", bundle, *INPUTS, f"--profile={missing}")
    assert result.code == 1
    assert f"cannot write '{missing}': No such file" in result.stderr
    assert result.stdout == b""

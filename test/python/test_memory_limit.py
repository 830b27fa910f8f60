"""`--memory`: the quickest step that fits; `--chunk` and `--offload`, two ways to
make it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from regather_tools import ROOT, Result, run_tool  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402
from torch import nn  # noqa: E402

from regather.fx.capture import capture_step  # noqa: E402
from regather.fx.step import Step  # noqa: E402

VOCABULARY, WIDTH, BATCH, LENGTH = 128, 16, 8, 16
MESH = ("--mesh=dp:2", "--optimizer=adamw", "--quiet")
# What `run` makes schedules for.
CLUSTER = "--cluster=cpu-threads"


class Net(nn.Module):
    """Blocks of little width under a head of many classes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH),
                          nn.GELU()) for _ in range(6))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


@pytest.fixture(scope="module", name="folder")
def capture_net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    torch.manual_seed(0)
    ids = torch.zeros(BATCH, LENGTH, dtype=torch.int64)
    graph = capture_step(Step(Net(), (ids,), loss, (ids,)))
    graph.save(folder / "step.fx.json")
    graph.save_weights(folder / "weights.safetensors")
    (folder / "text").write_bytes(
        bytes(index * index * 7 % 61 for index in range(641)))
    return folder


def train(folder: Path, *options: str, steps: int = 3) -> dict[str, Any]:
    """What a run of some steps says, and the bytes of what it wrote."""
    result = run_tool(
        "regather", "run", "step.fx.json", "--text", "text", *MESH,
        "--inputs", "weights.safetensors", f"--steps={steps}",
        "--learning-rate=0.01", "--outputs", "out.safetensors", "--json",
        "--check-plan", *options, cwd=folder, timeout=120)
    assert result.code == 0, result.stderr
    numbers: dict[str, Any] = json.loads(result.stdout)
    numbers["outputs"] = (folder / "out.safetensors").read_bytes()
    numbers["tensors"] = load_file(folder / "out.safetensors")
    return numbers


def simulate(folder: Path, *options: str) -> Result:
    return run_tool("regather", "simulate", "step.fx.json", *MESH,
                    CLUSTER, "--json", "plan.json", *options, cwd=folder, timeout=60)


def plan(folder: Path, *options: str) -> dict[str, Any]:
    result = simulate(folder, *options)
    assert result.code == 0, result.stderr
    numbers: dict[str, Any] = json.loads((folder / "plan.json").read_text())
    chosen = numbers["memory_plan"]["chosen"]
    assert numbers["seconds"] == pytest.approx(chosen["seconds"])
    return numbers["memory_plan"]


def test_blocks_of_rows_have_the_same_bits(folder: Path) -> None:
    """Also where a block is too small for the routine that all rows take."""
    whole = train(folder)
    for chunk in ("2", "auto"):
        blocks = train(folder, f"--chunk={chunk}")
        assert blocks["outputs"] == whole["outputs"]
        assert blocks["losses"] == whole["losses"]
        assert blocks["arena"]["planned_bytes"] < \
            whole["arena"]["planned_bytes"]
    sums = train(folder, "--chunk=auto sums=blocks")
    assert sums["losses"] == pytest.approx(whole["losses"], rel=1e-5)
    assert sums["losses"][0] == whole["losses"][0]
    assert sums["outputs"] != whole["outputs"]
    for name, value in sums["tensors"].items():
        numpy.testing.assert_allclose(value, whole["tensors"][name],
                                      rtol=1e-2, atol=1e-3, err_msg=name)
    assert sums["arena"]["planned_bytes"] < blocks["arena"]["planned_bytes"]


def test_what_is_on_the_host_has_the_same_bits(folder: Path) -> None:
    """Also over a slow link; bytes on the host are as planned, too."""
    whole = train(folder)
    away = train(folder, "--offload=all min-bytes=256")
    assert away["outputs"] == whole["outputs"]
    assert away["losses"] == whole["losses"]
    assert "host_bytes" not in whole["arena"]
    assert away["arena"]["planned_bytes"] < whole["arena"]["planned_bytes"]
    half = away["arena"]["host_bytes"] // 2
    some = train(folder, f"--offload=bytes bytes={half} min-bytes=256",
                 "--comm=threads,host-bandwidth=10MB/s")
    assert some["outputs"] == whole["outputs"]
    assert half <= some["arena"]["host_bytes"] < away["arena"]["host_bytes"]
    # Half is copied to the host, on a link of 10 MB/s, and back on another.
    assert some["seconds_per_step"] >= half / 10e6


def test_states_on_the_host_have_the_same_bits(folder: Path) -> None:
    """In pieces, beside values, and over a slow link, as long as that takes."""
    whole = train(folder)
    states = "states=all min-states=256"
    away = train(folder, f"--offload={states}")
    assert away["outputs"] == whole["outputs"]
    assert away["losses"] == whole["losses"]
    on_host = away["host_argument_bytes_per_rank"]
    assert away["peak_bytes_per_rank"] < whole["peak_bytes_per_rank"]
    assert "host_argument_bytes_per_rank" not in whole
    both = train(folder, f"--offload=all min-bytes=256 {states} piece=1kB",
                 "--comm=threads,host-bandwidth=10MB/s")
    assert both["outputs"] == whole["outputs"]
    assert both["host_argument_bytes_per_rank"] == on_host
    assert both["arena"]["host_bytes"] > 0
    assert both["seconds_per_step"] >= on_host / 10e6
    # As many as are wanted, at least.
    some = train(folder, f"--offload=states={on_host // 2} min-states=256")
    assert some["outputs"] == whole["outputs"]
    assert on_host // 2 <= some["host_argument_bytes_per_rank"] < on_host


def test_states_on_the_host_are_loaded_and_saved(folder: Path) -> None:
    """A run goes on from what the other one has left, and in a bundle."""
    def run(step: str, *options: str) -> Result:
        result = run_tool("regather", "run", step, "--quiet", "--json",
                          "--random-inputs=3", "--check-plan",
                          "--learning-rate=0.01", *options,
                          cwd=folder, timeout=60)
        assert result.code == 0, result.stderr
        return result

    def read(name: str) -> bytes:
        return (folder / name).read_bytes()

    common = ("--optimizer=adamw", "--ranks=1")
    away = "--offload=states min-states=256 piece=1kB"
    run("step.fx.json", *common, "--steps=3", "--outputs", "three.safetensors")
    run("step.fx.json", *common, "--steps=2", away, "--outputs", "two.safetensors")
    compiled = run_tool("regather", "compile", "step.fx.json", *common, away,
                        "--quiet", "-o", "states.rgb", cwd=folder, timeout=60)
    assert compiled.code == 0, compiled.stderr
    last = run("states.rgb", "--steps=1", "--inputs", "two.safetensors",
               "--first-step=3", "--outputs", "third.safetensors")
    assert read("third.safetensors") == read("three.safetensors")
    assert json.loads(last.stdout)["host_argument_bytes_per_rank"] > 0


def test_one_rank_offloads_too(folder: Path) -> None:
    """In a bundle, with the link to the host as a resource of its own."""
    common = ("--steps=2", "--random-inputs=3", "--json", "--quiet")
    compiled = run_tool("regather", "compile", "step.fx.json", "--ranks=1",
                        "--offload=all min-bytes=256", "--quiet", "-o",
                        "away.rgb", cwd=folder, timeout=60)
    assert compiled.code == 0, compiled.stderr
    runs = [run_tool("regather", "run", step, *common, "--outputs", outputs,
                     "--check-plan", cwd=folder, timeout=60)
            for step, outputs in (("step.fx.json", "here.safetensors"),
                                  ("away.rgb", "away.safetensors"))]
    numbers = [json.loads(run.stdout) for run in runs if run.code == 0]
    assert len(numbers) == 2, runs[-1].stderr
    assert numbers[0]["losses"] == numbers[1]["losses"]
    assert (folder / "here.safetensors").read_bytes() == \
        (folder / "away.safetensors").read_bytes()
    assert numbers[1]["arena"]["host_bytes"] > 0
    simulated = run_tool("regather", "simulate", "step.fx.json", "--ranks=1",
                         CLUSTER, "--offload=all min-bytes=256", "--json",
                         "away.json", cwd=folder, timeout=60)
    assert simulated.code == 0, simulated.stderr
    links = json.loads((folder / "away.json").read_text())["lower_bounds"][
        "link_seconds"]
    assert min(links["to host"], links["from host"]) > 0


@pytest.mark.parametrize(("text", "message"), [
    ("most", "--offload expects marked, all, bytes or none, got"),
    ("bytes", "mode bytes and option 'bytes', a number of bytes, need each "
     "other"),
    ("all bytes=4kB", "need each other"),
    ("all min-bytes=few", "min-bytes"),
    ("states=some", "expects none, all or a number of bytes for \"states\", "
     "got \"some\""),
    ("none states=all", "expects no options beside none")])
def test_bad_offloads(folder: Path, text: str, message: str) -> None:
    result = simulate(folder, f"--offload={text}")
    assert result.code == 1
    assert message in result.stderr


def test_fits_and_has_the_same_bits(folder: Path) -> None:
    """Bytes are those of the run, and no decision changes a bit."""
    usual = plan(folder, "--memory=1TB")["choices"][0]
    whole = train(folder)
    assert usual["bytes"] == whole["peak_bytes_per_rank"]
    tried = plan(folder, f"--memory={usual['bytes'] - 1}")
    limits = {tried["choices"][number]["bytes"] for number in tried["frontier"]}
    assert len(limits) > 2
    for limit in sorted(limits):
        chosen = plan(folder, f"--memory={limit}")["chosen"]
        assert chosen["bytes"] <= limit
        run = train(folder, f"--memory={limit}")
        assert run["outputs"] == whole["outputs"]
        assert run["peak_bytes_per_rank"] == chosen["bytes"]
        assert run["arena"]["planned_bytes"] == chosen["arena_bytes"]
        assert run["arena"]["touched_bytes"] <= chosen["arena_bytes"]


def test_a_third_of_the_memory(tmp_path: Path) -> None:
    """The debug Llama with 70, 50, 35 and 25 % of what it takes on 4 ranks if
    nothing is computed or gathered again: from 35 % on with states of the
    optimizer on the host."""
    def run_within(*flags: str) -> dict[str, Any]:
        result = run_tool(
            "regather", "run", str(ROOT / "examples" / "llama3-debug.fx.json"),
            "--ranks=4", "--optimizer=adamw", "--learning-rate=0.001",
            "--random-inputs=1", "--steps=2", "--check-plan", "--json",
            "--quiet", *flags, cwd=tmp_path, timeout=120)
        assert result.code == 0, result.stderr
        numbers: dict[str, Any] = json.loads(result.stdout)
        assert numbers["arena"]["touched_bytes"] == \
            numbers["arena"]["planned_bytes"]
        return numbers

    whole = run_within("--recompute=none", "--reshard=never")
    for part in (0.7, 0.5, 0.35, 0.25):
        limit = int(part * whole["peak_bytes_per_rank"])
        run = run_within(f"--memory={limit}")
        assert run["peak_bytes_per_rank"] <= limit
        assert run["losses"] == whole["losses"]
        assert ("host_argument_bytes_per_rank" in run) == (part <= 0.35)


def test_takes_the_quickest(folder: Path) -> None:
    usual = plan(folder, "--memory=1TB")["choices"][0]["bytes"]
    tried = plan(folder, f"--memory={int(0.9 * usual)}")
    choices = tried["choices"]
    fitting = [choice for choice in choices
               if choice["bytes"] <= tried["limit_bytes"]]
    assert tried["chosen"]["seconds"] == \
        min(choice["seconds"] for choice in fitting)
    assert tried["chosen"] in fitting and len(fitting) < len(choices)
    assert tried["bound_seconds"] <= min(c["seconds"] for c in choices)
    frontier = [choices[number] for number in tried["frontier"]]
    for smaller, larger in zip(frontier, frontier[1:]):
        assert smaller["bytes"] < larger["bytes"]
        assert smaller["seconds"] > larger["seconds"]
    for choice in choices:
        assert any(other["bytes"] <= choice["bytes"] and
                   other["seconds"] <= choice["seconds"] * 1.002
                   for other in frontier)


def test_blocks_that_change_nothing_are_left_out(tmp_path: Path) -> None:
    """The head of this one is read by what is made of all rows."""
    example = ROOT / "examples" / "llama3-debug.fx.json"
    numbers = tmp_path / "plan.json"
    result = run_tool("regather", "simulate", example, "--ranks=4",
                      "--optimizer=adamw", "--memory=40MB", "--quiet",
                      f"--json={numbers}", timeout=300)
    assert result.code == 0, result.stderr
    choices = json.loads(numbers.read_text())["memory_plan"]["choices"]
    alone, = [choice for choice in choices if choice["chunk"] == "auto"]
    assert alone["bytes"] == choices[0]["bytes"]
    assert alone["seconds"] == choices[0]["seconds"]


def test_decisions_of_the_caller_stay(folder: Path) -> None:
    options = ("--reshard=never", "--recompute=none", "--policy=none",
               "--chunk=none")
    alone = plan(folder, *options, "--memory=1TB")
    assert {choice["reshard"] for choice in alone["choices"]} == {"never"}
    assert {choice["recompute"] for choice in alone["choices"]} == {"none"}
    result = simulate(folder, *options,
                      f"--memory={alone['chosen']['bytes'] - 1}")
    assert result.code == 1
    assert f"the least that was found is {alone['chosen']['bytes']} bytes" in \
        result.stderr


def test_too_little_is_an_error(folder: Path) -> None:
    result = run_tool("regather", "compile", "step.fx.json", *MESH,
                      "--memory=20kB", "-o", "step.rgb", cwd=folder,
                      timeout=60)
    assert result.code == 1
    assert not (folder / "step.rgb").exists()
    assert "no plan fits in 20000 bytes (20.0 kB) on each rank: the least " \
        "that was found is" in result.stderr
    assert "of them parameters, optimizer state, batch and results" in \
        result.stderr
    assert "bytes at its peak are of" in result.stderr


def test_what_alone_is_too_much_is_named(folder: Path) -> None:
    options = ("--reshard=never", "--recompute=none", "--policy=none",
               "--chunk=none", "--offload=none")
    taken = plan(folder, *options, "--memory=1TB")["chosen"]["argument_bytes"]
    for limit, is_more in ((taken, False), (taken - 1, True)):
        result = simulate(folder, *options, f"--memory={limit}")
        assert result.code == 1
        assert f"{taken} of them parameters" in result.stderr
        assert ("results alone are more than the limit" in
                result.stderr) == is_more


@pytest.mark.parametrize("text", ["-1", "80 GB", "80gb", "1e9", "9999999TB",
                                  "GB"])
def test_bad_sizes(folder: Path, text: str) -> None:
    result = simulate(folder, f"--memory={text}")
    assert result.code == 1
    assert "--memory expects a number of bytes, such as 80GB or 64GiB, got " \
        f"'{text}'" in result.stderr


@pytest.mark.parametrize(("text", "message"), [
    ("many", '--chunk expects'), ("-2", "must not be negative, got -2"),
    ("3", "asks for 3 blocks of rows, but they must divide the 4 of"),
    ("auto sums=few", "sums")])
def test_bad_blocks(folder: Path, text: str, message: str) -> None:
    result = simulate(folder, f"--chunk={text}")
    assert result.code == 1
    assert message in result.stderr


@pytest.mark.parametrize("mesh", [
    ("--mesh=dp:2",), ("--mesh=dp:2,tp:2", "--batch=per-rank")])
def test_micro_batches_have_the_losses_of_the_batch(
        folder: Path, mesh: tuple[str, ...]) -> None:
    """Most labels of some rows do not count, so that means of micro-batches
    would be another loss."""
    rows = 2 * BATCH if "--batch=per-rank" in mesh else BATCH
    count = numpy.arange(rows * LENGTH).reshape(rows, LENGTH)
    arguments = {**load_file(folder / "weights.safetensors"),
                 "x": count * 7 % VOCABULARY,
                 "labels": numpy.where(count % (1 + count // LENGTH) == 0,
                                       count * 5 % VOCABULARY, -100)}
    names = json.loads((folder / "step.fx.json").read_text())["inputs"]
    for old, new in zip(("x", "labels"), names):
        arguments[new["name"]] = arguments.pop(old)
    save_file(arguments, folder / "arguments.safetensors")
    whole, parts = (
        json.loads(run_tool(
            "regather", "run", "step.fx.json", "--optimizer=adamw", "--quiet",
            "--inputs", "arguments.safetensors", "--steps=2",
            "--learning-rate=0.01", "--json", *mesh, *cut,
            cwd=folder, timeout=120).stdout)
        for cut in ((), ("--micro-batches=4",)))
    assert parts["losses"] == pytest.approx(whole["losses"], rel=1e-5)
    assert parts["peak_bytes_per_rank"] < whole["peak_bytes_per_rank"]


def test_micro_batches_that_are_open(folder: Path) -> None:
    """With no other decision left, only they make the step fit; what is printed
    gives the same step."""
    fixed = ("--recompute=none", "--reshard=none", "--offload=none",
             "--chunk=none", "--schedule=none")

    def measure(*options: str) -> dict[str, Any]:
        result = simulate(folder, *fixed, *options)
        assert result.code == 0, result.stderr
        plan: dict[str, Any] = json.loads((folder / "plan.json").read_text())
        return plan

    limit = 150_000
    assert simulate(folder, *fixed, f"--memory={limit}").code != 0
    plan = measure(f"--memory={limit}", "--micro-batches=auto")
    chosen = plan["memory_plan"]["chosen"]
    assert int(chosen["micro_batches"]) > 1
    assert chosen["bytes"] <= limit
    again = measure(f"--memory={limit}",
                    f"--micro-batches={chosen['micro_batches']}")
    assert again["memory_plan"]["chosen"] == chosen


@pytest.mark.parametrize(("text", "message"), [
    ("0", "--micro-batches expects a number of micro-batches, at least 1, or "
     'auto, got "0"'),
    ("3", "cannot be divided into 3 micro-batches"),
    ("8", "each of 8 micro-batches has 1 rows, which cannot be divided by 2 "
     "ranks"),
])
def test_bad_micro_batches(folder: Path, text: str, message: str) -> None:
    result = simulate(folder, f"--micro-batches={text}")
    assert result.code != 0
    assert message in result.stderr


@pytest.mark.parametrize("text", ["50000000B", "50000KB", "50MB"])
def test_units(folder: Path, text: str) -> None:
    assert simulate(folder, f"--memory={text}").code == 0
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["memory_plan"]["limit_bytes"] == 50_000_000


def test_report_shows_the_choices(folder: Path) -> None:
    limit = int(0.9 * plan(folder, "--memory=1TB")["choices"][0]["bytes"])
    result = run_tool("regather", "report", "step.fx.json", *MESH,
                      CLUSTER, "-o", "report.html", "--json", "report.json",
                      f"--memory={limit}", cwd=folder, timeout=60)
    assert result.code == 0, result.stderr
    numbers = json.loads((folder / "report.json").read_text())
    tried = plan(folder, f"--memory={limit}")
    shown = numbers["memory_plan"]
    assert [(choice["bytes"], choice["seconds"])
            for choice in shown["choices"]] == \
        [(choice["bytes"], choice["seconds"]) for choice in tried["choices"]]
    assert shown["choices"][shown["chosen"]]["bytes"] == \
        tried["chosen"]["bytes"]
    assert [number for number, choice in enumerate(shown["choices"])
            if choice["frontier"]] == sorted(tried["frontier"])
    page = (folder / "report.html").read_text()
    assert page.count("<title>--") + page.count("<title>the step") == \
        len(shown["choices"])


def test_some_layers_have_a_policy(tmp_path: Path) -> None:
    """Where one for all leaves room, and none takes too much."""
    shutil.copyfile(ROOT / "examples" / "llama3-debug.fx.json",
                    tmp_path / "step.fx.json")
    made = plan(tmp_path, "--memory=72MB", "--chunk=none", "--offload=none")
    chosen = made["chosen"]
    assert re.fullmatch(r"full units=\d", chosen["policy"])
    everywhere = [choice for choice in made["choices"]
                  if choice["policy"] == "full"]
    assert chosen["seconds"] < min(one["seconds"] for one in everywhere)
    # What it takes is no estimate: the flags make the same step.
    flags = [f"--{name}={chosen[name]}" for name in
             ("chunk", "offload", "policy", "recompute", "reshard")]
    again = plan(tmp_path, "--memory=1TB", *flags)["choices"][0]
    assert again["bytes"] == chosen["bytes"]
    assert again["seconds"] == pytest.approx(chosen["seconds"])

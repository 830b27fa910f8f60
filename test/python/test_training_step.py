"""Training steps in Python, `regather.compile(model, batch, ...)`: in this
process, and as ranks of jobs over process groups of PyTorch."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.13")

import regather  # noqa: E402
import training_ranks as ranks  # noqa: E402
from training_jobs import launch  # noqa: E402
from regather import RegatherError  # noqa: E402
from regather.execution import Executable  # noqa: E402
from regather.training import files  # noqa: E402
from regather.training.plan import StepPlan  # noqa: E402
from regather.training.progress import Progress  # noqa: E402
from regather_tools import run_tool  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict]]:
    folder = tmp_path_factory.mktemp("job")
    return folder, launch("train", 4, folder)


def eager(micro_batches: int = 1) -> tuple[list[float], torch.nn.Module]:
    """The same six steps by PyTorch, on the global batch; or on parts of it, of
    whose losses it takes the mean."""
    model = ranks.make_model()
    optimizer = ranks.make_optimizer(model)
    schedule = ranks.make_schedule(optimizer)
    losses = []
    for step in range(6):
        optimizer.zero_grad()
        losses.append(0.0)
        for part in range(micro_batches):
            inputs, targets = masked_batch(step, part, micro_batches)
            loss = ranks.loss(model(inputs), targets) / micro_batches
            loss.backward()
            losses[-1] += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), ranks.CLIP)
        optimizer.step()
        schedule.step()
    return losses, model


def masked_batch(step: int, part: int, parts: int
                 ) -> tuple[torch.Tensor, torch.Tensor]:
    """As `ranks.batch`; if it is cut, the first rows have fewer targets, so that
    the mean of its parts is not that of the whole."""
    inputs, targets = ranks.batch(step)
    if parts > 1:
        targets = targets.clone()
        targets[:2, 1:] = -100
    return inputs.chunk(parts)[part], targets.chunk(parts)[part]


def test_one_process_trains_as_eager_does() -> None:
    step, schedule = ranks.compile_step()
    losses = ranks.train(step, schedule, 6)
    expected, model = eager()
    assert losses == pytest.approx(expected, rel=1e-5)
    assert losses[5] < losses[0]
    state = step.state_dict()
    assert int(state["step"]) == 6
    torch.testing.assert_close(state["model"]["hidden.weight"],
                               model.hidden.weight.detach(), rtol=1e-4,
                               atol=1e-5)
    inputs, targets = ranks.batch(99)
    assert step.eval((inputs, targets)).item() == pytest.approx(
        ranks.loss(model.eval()(inputs), targets).item(), rel=1e-5)


def test_batches_are_cut_into_micro_batches() -> None:
    step, schedule = ranks.compile_step(accumulate=4)
    whole = [torch.cat(parts) for parts in zip(*(
        masked_batch(0, part, 4) for part in range(4)))]
    evaluated = step.eval(whole).item()
    losses = []
    for number in range(6):
        parts = [masked_batch(number, part, 4) for part in range(4)]
        losses.append(step([torch.cat(tensors) for tensors in zip(*parts)]
                           ).item())
        schedule.step()
    expected, model = eager(micro_batches=4)
    assert losses == pytest.approx(expected, rel=1e-5)
    # The model has nothing that evaluation changes.
    assert evaluated == pytest.approx(expected[0], rel=1e-5)
    torch.testing.assert_close(step.state_dict()["model"]["hidden.weight"],
                               model.hidden.weight.detach(), rtol=1e-4,
                               atol=1e-5)


@pytest.mark.parametrize("options", [
    {"offload": "states min-states=0"}, {"memory": "1MB"}])
def test_decisions_about_memory_change_no_bit(options: dict[str, str]) -> None:
    """A step of which states lie on the host, or one within a limit, trains as
    another one does, and goes on from its own checkpoint."""
    expected = ranks.train(*ranks.compile_step(), 4)
    step, schedule = ranks.compile_step(**options)
    losses = ranks.train(step, schedule, 2)
    again, schedule = ranks.compile_step(**options)
    again.load_state_dict(step.state_dict())
    for _ in range(2):
        schedule.step()
    assert losses + ranks.train(again, schedule, 2, 2) == expected


def test_one_micro_batch_is_alive_at_a_time() -> None:
    """Four of them need little more memory than one, and far less than a batch
    as large as all."""
    layers = [torch.nn.Linear(8, 8) for _ in range(6)]
    model = torch.nn.Sequential(*(part for layer in layers
                                  for part in (layer, torch.nn.Tanh())))

    def arena(rows: int, micro_batches: int) -> int:
        step = regather.compile(
            model, (torch.ones(rows, 8), torch.ones(rows, 8)), quiet=True,
            loss=torch.nn.functional.mse_loss, optimizer="sgd", lr=0.1,
            accumulate=micro_batches)
        return step.report().json["after"]["memory"]["arena_bytes"]

    one, four, whole = arena(256, 1), arena(1024, 4), arena(1024, 1)
    assert four < 1.5 * one < whole / 2


def test_gradients_of_several_calls() -> None:
    """The mean over all batches since the last step; a step alone is as ever."""
    step, schedule = ranks.compile_step()
    losses = []
    for number in range(6):
        parts = [masked_batch(number, part, 2) for part in range(2)]
        whole = [torch.cat([tensor, tensor]) for tensor in parts[0]], [
            torch.cat([tensor, tensor]) for tensor in parts[1]]
        first = step.accumulate(whole[0]).item()
        losses.append((first + step(whole[1]).item()) / 2)
        schedule.step()
    expected, model = eager(micro_batches=2)
    assert losses == pytest.approx(expected, rel=1e-5)
    assert step.count == 6
    torch.testing.assert_close(step.state_dict()["model"]["hidden.weight"],
                               model.hidden.weight.detach(), rtol=1e-4,
                               atol=1e-5)
    alone, schedule = ranks.compile_step()
    warnings.simplefilter("error")
    alone.load_state_dict(step.state_dict())
    for _ in range(6):
        schedule.step()
    assert step(ranks.batch(7)).item() == alone(ranks.batch(7)).item()
    assert step(ranks.batch(8)).item() == alone(ranks.batch(8)).item()


def test_loading_drops_what_was_accumulated() -> None:
    step, _ = ranks.compile_step()
    state = {name: tensor.clone()
             for name, tensor in ranks.local_parts(step.state_dict()).items()}
    step.accumulate(ranks.batch(0))
    step.load_state_dict(step.state_dict())
    step(ranks.batch(1))
    after = ranks.local_parts(step.state_dict())
    alone, _ = ranks.compile_step()
    alone(ranks.batch(1))
    expected = ranks.local_parts(alone.state_dict())
    assert all(torch.equal(after[name], expected[name]) for name in state)


def test_narrow_parameters_have_wide_masters() -> None:
    """The parameters that it computes with are rounded, and nothing else."""
    step, schedule = ranks.compile_step(param_dtype=torch.bfloat16)
    losses = ranks.train(step, schedule, 6)
    expected, model = eager()
    assert losses == pytest.approx(expected, rel=1e-2)
    assert losses[0] != pytest.approx(expected[0], rel=1e-5)
    state = step.state_dict()
    for tensors in (state["model"], *state["optimizer"]["state"].values()):
        assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    # Updates that bf16 cannot hold.
    weight = state["model"]["norm.weight"]
    assert not torch.equal(weight, weight.bfloat16().float())
    torch.testing.assert_close(weight, model.norm.weight.detach(), rtol=2e-2,
                               atol=2e-2)


def test_ranks_train_as_eager_does(job: tuple[Path, list[dict]]) -> None:
    expected, model = eager()
    found = job[1]
    assert found[0]["losses"] == pytest.approx(expected, rel=1e-4)
    # Every rank has the same loss and the same whole tensors, to the bit.
    assert all(each == found[0] for each in found)
    torch.testing.assert_close(torch.tensor(found[0]["weight"]),
                               model.embedding.weight.detach(), rtol=1e-3,
                               atol=1e-4)
    inputs, targets = ranks.batch(99)
    assert found[0]["eval"] == pytest.approx(
        ranks.loss(model.eval()(inputs), targets).item(), rel=1e-4)


def test_resumed_job_has_the_same_bits(job: tuple[Path, list[dict]]) -> None:
    found = launch("resume", 4, job[0])
    assert found[0]["count"] == 3
    assert found[0]["losses"] == job[1][0]["losses"][3:]
    assert found[0]["again"] == 3
    assert found[0]["losses again"] == job[1][0]["losses"][3:]


def test_resumes_on_other_numbers_of_ranks(job: tuple[Path, list[dict]]) -> None:
    expected = pytest.approx(job[1][0]["losses"][3:], rel=1e-4)
    found = launch("resume", 2, job[0])[1]
    assert found["losses"] == expected
    assert found["losses again"] == found["losses"]


def test_saved_tensors_are_whole(job: tuple[Path, list[dict]]) -> None:
    """One process reads what four wrote, and others read it without us."""
    step, schedule = ranks.compile_step()
    step.load(job[0] / "tensors")
    for _ in range(step.count):
        schedule.step()
    losses = ranks.train(step, schedule, 3, step.count)
    assert losses == pytest.approx(job[1][0]["losses"][3:], rel=1e-4)
    index = json.loads((job[0] / "tensors" / files.INDEX).read_text())
    found = {}
    for file in sorted(set(index["weight_map"].values())):
        found |= load_file(job[0] / "tensors" / file)
    model = ranks.make_model()
    missing, extra = model.load_state_dict(found, strict=False)
    assert missing == ["output.weight"]
    assert {name.rpartition(".")[2] for name in extra} == {"exp_avg",
                                                           "exp_avg_sq"}
    assert index["metadata"]["total_size"] == sum(
        tensor.nbytes for tensor in found.values())


def test_which_batch_a_rank_is_given() -> None:
    for axes, flags, expected in (
            ("dp:4", [], [0, 1, 2, 3]), ("tp:4", [], [0, 0, 0, 0]),
            ("dp:2,tp:2", [], [0, 0, 1, 1]), ("tp:2,dp:2", [], [0, 1, 0, 1]),
            ("rep:2,cp:2", [], [0, 0, 1, 1]), ("dp:2,ep:2", [], [0, 1, 2, 3]),
            ("rep:2,tp:2,dp:2", [], [0, 1, 0, 1, 2, 3, 2, 3]),
            ("dp:2,mp:2", [("shard", "w=[mp] shard 0")], [0, 0, 1, 1])):
        sizes = [(name, int(size)) for name, _, size in
                 (axis.partition(":") for axis in axes.split(","))]
        plan = StepPlan(sizes, "sgd", flags=flags)
        assert [plan.find_batch(rank) for rank in range(plan.ranks)] == expected
        assert plan.count_batches() == max(expected) + 1


def test_axes_of_the_model(tmp_path: Path) -> None:
    """Losses are those of one process with the whole batch, whatever the mesh;
    states go from one mesh to another."""
    found = launch("meshes", 4, tmp_path)
    step = ranks.compile_block(1)
    expected = [step(ranks.batch(number)).item() for number in (0, 1, 2)]
    expected += [expected[-1], step.eval(ranks.batch(3)).item()]
    step.accumulate(ranks.batch(4))
    expected += [step(ranks.batch(number)).item() for number in (5, 6)]
    first = found[0]
    assert all(other == first for other in found)
    for mesh in ranks.MESHES:
        assert first[mesh] == pytest.approx(expected, rel=1e-6)
    shards = {mesh: first[f"{mesh} shards"] for mesh in ranks.MESHES}
    assert shards["dp:2,tp:2"]["up.weight"] == ["S(0)", "S(0)"]
    assert shards["dp:2,tp:2"]["down.weight"] == ["S(1)", "S(0)"]
    # Over tp, cp, and the axis of size 1 that has the batch.
    assert sorted(shards["cp:2,tp:2"]["up.weight"]) == ["R", "S(0)", "S(0)"]
    assert first["loader"] == (
        "ranks 0 and 1 compute on one batch on mesh 'dp:2,tp:2', but are given "
        "different inputs 'tokens': a data loader has to give ranks that differ "
        "in an axis of the model alone the same rows")
    assert first["experts"] == (
        "axis 'ep' of mesh 'dp:2,ep:2' cuts no batch: the model has no experts "
        "that are grouped GEMMs")


def test_checkpoints_that_cannot_be_read(tmp_path: Path) -> None:
    step, _ = ranks.compile_step()
    with pytest.raises(RegatherError, match="no checkpoint: cannot read .*: No "
                       "such file"):
        step.load(tmp_path)
    step.save(tmp_path)
    (file,) = tmp_path.glob("*.safetensors")
    tensors = load_file(file)

    def write(changes: dict[str, torch.Tensor | None]) -> None:
        made = {**tensors, **changes}
        save_file({name: value for name, value in made.items()
                   if value is not None}, file)

    for changes, message in [
            ({"norm.bias": torch.zeros(9)},
             r"'norm.bias': expects shape \[10\], got \[9\]"),
            ({"norm.bias": torch.zeros(10, dtype=torch.float64)},
             "'norm.bias': expects torch.float32, got torch.float64"),
            ({"norm.bias": None}, "'norm.bias' is not where the index says")]:
        write(changes)
        with pytest.raises(RegatherError, match=message):
            step.load(tmp_path)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(RegatherError, match=f"cannot read {file}"):
        step.load(tmp_path)
    (tmp_path / files.INDEX).write_text("{}")
    with pytest.raises(RegatherError, match="is no index of a checkpoint"):
        step.load(tmp_path)


def test_ranks_with_different_steps(tmp_path: Path) -> None:
    """They find out before they compile, and hear the same."""
    left, right = launch("refusals", 2, tmp_path)
    assert left == right
    assert ("ranks 0 and 1 differ in option 'optimizer': 'sgd "
            "weight-decay=0.0 max-norm=1.0 " in left["optimizer"])
    assert left["options"] == (
        "all ranks need the same step, but ranks 0 and 1 differ in option "
        "'policy': none and 'full'")
    assert "differ in the initial value of 'weight': " in left["values"]
    assert "the same torch.manual_seed on all ranks" in left["values"]
    assert left["mesh"] == ('expects 4 ranks for the mesh "dp:4", got a process '
                            "group of 2")
    assert "ddp" in left["axes"]
    assert left["nothing"] == ""


def test_bits_are_those_of_threads(job: tuple[Path, list[dict]],
                                   tmp_path: Path) -> None:
    """`regather run` runs the same ranks as threads of one process."""
    (repeated,) = job[1][0]["repeated"]
    example = ranks.batch(0, 0, 4)
    captured = regather.capture(ranks.make_model(), example[0], ranks.loss,
                                example[1], verify=0)
    captured.save(tmp_path / "step.fx.json")
    inputs, targets = ranks.batch(0)
    values = dict(zip(("tokens", "targets"), (inputs, targets)))
    save_file({name: value.detach().clone().contiguous() for name, value in
               (captured.tensors | values).items()}, tmp_path / "in.safetensors")
    result = run_tool(
        "regather", "run", str(tmp_path / "step.fx.json"), "--mesh=dp:4",
        "--batch=per-rank", "--layout=per-parameter", "--steps=8",
        "--optimizer=adamw betas=0.9,0.95 eps=1e-08 weight-decay=0.1 "
        f"max-norm={ranks.CLIP}", "--learning-rate=0.02",
        f"--inputs={tmp_path / 'in.safetensors'}",
        f"--report={tmp_path / 'report.json'}")
    assert result.code == 0, result.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert repeated == report["losses"]


def test_complex_parameters_train_as_in_pytorch(tmp_path: Path) -> None:
    """They lie as real tensors, and states show them as complex ones."""
    found = [ranks.run_complex(tmp_path / "alone"),
             launch("complex", 2, tmp_path)[0]]
    model, x, y = ranks.filtered(0, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), ranks.CLIP)
        optimizer.step()
        losses.append(loss.item())
    expected = {"mix": model.mix, "turn": model.turn} | {
        kind: optimizer.state[model.mix][kind]
        for kind in ("exp_avg", "exp_avg_sq")}
    for one in found:
        assert one["losses"] == pytest.approx(losses, rel=1e-5)
        assert one["again"] == 2 * one["losses"][2:]
        assert one["state"].keys() == expected.keys()
        for name, tensor in expected.items():
            torch.testing.assert_close(
                torch.tensor(one["state"][name]),
                torch.view_as_real(tensor.detach()), rtol=1e-4, atol=1e-6)


def test_elastic_steps_have_the_same_bits_on_any_ranks(tmp_path: Path) -> None:
    """On one, two and four; saved by four and resumed by two. `regather run`
    has them, too."""
    alone = json.loads(json.dumps(ranks.run_elastic(tmp_path)))
    found = launch("elastic", 4, tmp_path)
    assert all(each == alone for each in found)
    resumed = launch("elastic_resume", 2, tmp_path)
    assert resumed[0] == resumed[1]
    losses, weights = alone["plain"]
    for name in ("checkpoint", "tensors"):
        assert resumed[0][name] == [losses[4:7], weights]
    assert resumed[0]["refused"] == 2 * [
        "the state was saved by a step with elastic=8, but this one has "
        "elastic=4, whose losses differ"]
    # Without it the ranks show.
    assert losses[:3] != [loss.hex() for loss in ranks.train(
        *ranks.compile_step(quiet=True), 3)]


def test_elastic_steps_have_the_bits_of_threads(tmp_path: Path) -> None:
    example = ranks.batch(0)
    captured = regather.capture(ranks.make_model(), example[0], ranks.loss,
                                example[1], verify=0)
    captured.save(tmp_path / "step.fx.json")
    values = dict(zip(("tokens", "targets"), example))
    save_file({name: value.detach().clone().contiguous() for name, value in
               (captured.tensors | values).items()}, tmp_path / "in.safetensors")
    result = run_tool(
        "regather", "run", str(tmp_path / "step.fx.json"), "--mesh=dp:4",
        "--elastic=8", "--layout=per-parameter", "--steps=3",
        "--optimizer=adamw betas=0.9,0.95 eps=1e-08 weight-decay=0.1 "
        f"max-norm={ranks.CLIP}", "--learning-rate=0.02",
        f"--inputs={tmp_path / 'in.safetensors'}",
        f"--report={tmp_path / 'report.json'}")
    assert result.code == 0, result.stderr
    step, _ = ranks.compile_step(quiet=True, elastic=8)
    losses = [step(example).item() for _ in range(3)]
    assert json.loads((tmp_path / "report.json").read_text())["losses"] == losses


EXAMPLE = Path(__file__).parents[2] / "examples" / "train_llama.py"


def example_command(folder: Path, steps: int, save_every: int) -> list:
    text = folder.parent / "text"
    # The vocabulary of the tiny model has 64 tokens.
    text.write_bytes(bytes(i * i * 7 % 61 for i in range(1000)))
    return [sys.executable, EXAMPLE, "--config=tiny", "--sequence=16",
            "--elastic=4", f"--steps={steps}", f"--save-every={save_every}",
            f"--text={text}", f"--save={folder}"]


def start_example(count: int, folder: Path, steps: int) -> list:
    """The ranks of a job, as torchrun starts them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
           "TORCHELASTIC_RUN_ID": "test", "OMP_NUM_THREADS": "1",
           "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    return [subprocess.Popen(
        example_command(folder, steps, save_every=2), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=os.environ | job | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(count)]


def read_losses(output: str) -> list[str]:
    return [line.rpartition("  ")[0] for line in output.splitlines()]


def test_a_killed_example_goes_on_with_other_ranks(tmp_path: Path) -> None:
    """It shows what a run that nobody stopped shows."""
    killed = start_example(4, tmp_path / "stopped", 100)
    shown = []
    for line in killed[0].stdout:
        shown.append(line)
        if line.startswith("step 5 "):
            break
    for process in killed:
        process.kill()
    for process in killed:
        process.wait()
        process.stdout.close()
    resumed = start_example(2, tmp_path / "stopped", 8)
    rest = [process.communicate(timeout=240)[0] for process in resumed][0]
    assert [process.returncode for process in resumed] == [0, 0]
    whole = subprocess.run(
        example_command(tmp_path / "whole", 8, save_every=100),
        capture_output=True, text=True, timeout=240)
    expected = read_losses(whole.stdout)
    assert len(expected) == 8, whole.stderr
    assert read_losses("".join(shown)) == expected[:5]
    # Of the save after step 4.
    assert read_losses(rest) == expected[4:]


def test_experts_run_again_what_had_too_little_room(tmp_path: Path) -> None:
    """Bits are those of a step that gathers, from either kind of checkpoint; a
    capacity that often suffices has the losses of one device."""
    step = ranks.compile_experts()
    expected = [float.fromhex(loss) for loss in
                ranks.route(step, (0, 1)) + ranks.end_routing(step)[0]]
    found = launch("experts", 4, tmp_path)
    assert all(each == found[0] for each in found)
    before, after, weights = found[0]["gathered"]
    losses = [float.fromhex(loss) for loss in before + after]
    assert losses == pytest.approx(expected, rel=1e-5)
    assert found[0]["resumed"] == 2 * [[after, weights]]
    # Steps, gradients and evaluations alike.
    assert found[0]["repeated"] == 10
    some = [float.fromhex(loss) for loss in found[0]["some"]]
    assert some == pytest.approx(expected[:4], rel=1e-5)
    assert 0 < found[0]["some repeated"] < 4


def test_dead_rank_ends_the_job(tmp_path: Path) -> None:
    found = launch("death", 4, tmp_path)
    assert found[1] == {}
    for rank in (0, 2, 3):
        assert f"rank {rank} cannot complete 'tg." in found[rank]["error"]
        assert "training_ranks.py:" in found[rank]["error"]
        assert "is gone" in found[rank]["error"]


def test_stopped_rank_ends_the_job(tmp_path: Path) -> None:
    found = launch("interrupt", 2, tmp_path)
    assert "rank 1 is gone" in found[0]["error"]


def test_meta_model_is_initialised_by_seed() -> None:
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(),
                                    torch.nn.Linear(7, 3))
    weights = []
    for seed in (1, 1, 2):
        step = regather.compile(
            model, (torch.zeros(4, 5), torch.zeros(4, dtype=torch.int64)),
            loss=torch.nn.functional.cross_entropy,
            optimizer="sgd momentum=0.9", lr=0.1, seed=seed)
        weights.append(step.state_dict()["model"]["2.weight"].clone())
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert next(model.parameters()).is_meta


class Reciprocal(torch.nn.Module):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return 1 / values


def test_loss_that_is_no_number_spoils_nothing() -> None:
    """The first is reported, with the module in which it begins."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False),
                                Reciprocal(), torch.nn.Linear(2, 1))
    step = regather.compile(
        model, (torch.ones(3, 2), torch.ones(3, 1)),
        loss=torch.nn.functional.mse_loss,
        optimizer=torch.optim.SGD(model.parameters(), 0.01, momentum=0.9))
    good = torch.ones(3, 2), torch.ones(3, 1)
    bad = torch.zeros(3, 2), torch.ones(3, 1)
    step(good)
    before = {name: tensor.clone()
              for name, tensor in ranks.local_parts(step.state_dict()).items()}
    with pytest.warns(RuntimeWarning, match=r"the loss of step 2 is (nan|inf), "
                      r"and nothing is updated; what is not finite first is "
                      r"module '1' \(Reciprocal\)"):
        step(bad)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step.accumulate(bad)
        step(bad)
    after = ranks.local_parts(step.state_dict())
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert (step.count, step.skipped) == (3, 3)
    assert step(good).isfinite()
    assert not torch.equal(after["0.weight"], before["0.weight"])


@pytest.mark.parametrize("spoil, message", [
    (lambda step: (torch.full((3, 2), torch.nan), torch.ones(3, 1)),
     "input 'input'"),
    (lambda step: (step.state_dict()["model"]["bias"].fill_(torch.inf),
                   (torch.ones(3, 2), torch.ones(3, 1)))[1], "'bias'")])
def test_what_is_not_finite_ahead_of_modules(spoil: object, message: str
                                             ) -> None:
    model = torch.nn.Linear(2, 1)
    step = regather.compile(
        model, (torch.ones(3, 2), torch.ones(3, 1)),
        loss=torch.nn.functional.mse_loss, optimizer="sgd", lr=0.1)
    with pytest.warns(RuntimeWarning,
                      match=f"what is not finite first is {message}"):
        step(spoil(step))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_is_a_bar() -> None:
    stream = Terminal()
    progress = Progress(2, quiet=False, stream=stream)
    with progress.phase("capturing"):
        pass
    with progress.phase("compiling"), contextlib.suppress(KeyError):
        raise KeyError
    shown = re.sub(r"[\d.]+ s", "T", stream.getvalue())
    clear = "\r\x1b[K"
    assert shown == "".join([
        clear, "regather [>", " " * 23, "] capturing, T", clear,
        clear, "regather [", "=" * 12, ">", " " * 11, "] compiling, T", clear])


def test_progress_elsewhere_is_lines(capfd: pytest.CaptureFixture[str]) -> None:
    model = torch.nn.Linear(2, 1)
    for quiet in (False, True):
        regather.compile(
            model, (torch.ones(3, 2), torch.ones(3, 1)), optimizer="sgd", lr=0.1,
            loss=torch.nn.functional.mse_loss, quiet=quiet)
        lines = capfd.readouterr().err.splitlines()
        assert [re.sub(r"[\d.]+ s", "T", line) for line in lines] == [
            f"regather: {name} took T"
            for name in ("capturing", "compiling", "initialising") if not quiet]


def test_report_is_of_the_step(small: regather.TrainingStep) -> None:
    model = torch.nn.Linear(2, 1)
    step = regather.compile(
        model, (torch.ones(4, 2), torch.ones(4, 1)), quiet=True,
        loss=torch.nn.functional.mse_loss, optimizer="adamw", lr=0.1,
        accumulate=2)
    report = step.report()
    assert report.request["optimizer"].startswith("adamw ")
    assert (report.mesh, small.report().mesh) == ("dp = 1", "")
    assert report.ops > small.report().ops
    assert "<html" in report.html


def test_interrupts_wait_for_the_end_of_the_step(
        monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    steps = [ranks.compile_step()[0] for _ in range(2)]
    run = Executable.run
    # Processes in the background of a shell ignore the signal from their start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def interrupted(executable: Executable, *addresses: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        run(executable, *addresses)

    with monkeypatch.context() as patch:
        patch.setattr(Executable, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            steps[0](ranks.batch(0))
        with pytest.raises(KeyboardInterrupt):
            steps[0].accumulate(ranks.batch(1))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    steps[1](ranks.batch(0))
    steps[1].accumulate(ranks.batch(1))
    assert [step.count for step in steps] == [1, 1]
    assert steps[0](ranks.batch(2)).item() == steps[1](ranks.batch(2)).item()
    left, right = (ranks.local_parts(step.state_dict()) for step in steps)
    assert all(torch.equal(left[name], right[name]) for name in left)


@pytest.fixture(scope="module")
def small() -> regather.TrainingStep:
    model = torch.nn.Linear(2, 1)
    return regather.compile(
        model, (torch.ones(3, 2), torch.ones(3, 1)),
        loss=torch.nn.functional.mse_loss,
        optimizer=torch.optim.SGD(model.parameters(), 0.1))


@pytest.mark.parametrize("batch, message", [
    ((torch.ones(4, 2), torch.ones(3, 1)),
     r"'input': expects shape \[3, 2\], as the step was compiled for, got "
     r"\[4, 2\]"),
    ((torch.ones(3, 2, dtype=torch.float64), torch.ones(3, 1)),
     "expects torch.float32, got torch.float64"),
    ((torch.ones(3, 2, device="meta"), torch.ones(3, 1)), "on cpu, got one on"),
    (torch.ones(3, 2), "expects a batch of inputs and targets, got Tensor"),
    ((torch.ones(3, 2), (torch.ones(3, 1), torch.ones(1))),
     "targets: expects 1 parts, as in the example, got 2")])
def test_wrong_batches(small: regather.TrainingStep, batch: object,
                       message: str) -> None:
    with pytest.raises(RegatherError, match=message):
        small(batch)
    # The step is as it was.
    assert small((torch.ones(3, 2), torch.ones(3, 1))).isfinite()


@pytest.mark.parametrize("options, message", [
    ({"mesh": "dp:4"}, "start with torchrun --nproc-per-node 4"),
    ({"mesh": "dp"}, 'expects a mesh such as "dp:4", got "dp"'),
    ({"clip": -1.0}, "expects a positive norm to clip, got -1.0"),
    ({"options": {"polcy": "full"}}, "unknown option 'polcy'; options are "),
    ({"options": {"optimizer": "sgd"}}, "optimizer is given more than once"),
    ({"optimizer": "sgd"}, "an optimizer given as text needs lr"),
    ({"lr": 0.1}, "lr is for optimizers given as text"),
    ({"elastic": -1}, "expects a number of segments as elastic, got -1"),
    ({"elastic": 2}, "into 2 segments, which do not divide its 3 rows; 1 or 3 "
     "segments do"),
    ({"elastic": 3, "reduce_dtype": torch.bfloat16}, "option 'reduce-dtype' "
     "asks for bf16")])
def test_wrong_options(options: dict, message: str) -> None:
    model = torch.nn.Linear(2, 1)
    given = {"optimizer": torch.optim.SGD(model.parameters(), 0.1)} | options
    with pytest.raises(RegatherError, match=message):
        regather.compile(model, (torch.ones(3, 2), torch.ones(3, 1)),
                         loss=torch.nn.functional.mse_loss, **given)


OPTIMIZERS = {
    "adam": functools.partial(torch.optim.Adam, amsgrad=True,
                              weight_decay=0.1),
    "decoupled": functools.partial(torch.optim.Adam, weight_decay=0.1,
                                   decoupled_weight_decay=True),
    "nesterov": functools.partial(torch.optim.SGD, momentum=0.9,
                                  nesterov=True),
    "dampening": functools.partial(torch.optim.SGD, momentum=0.9,
                                   dampening=0.5, maximize=True),
    "adagrad": functools.partial(torch.optim.Adagrad, lr_decay=0.1),
    "rmsprop": functools.partial(torch.optim.RMSprop, alpha=0.9, momentum=0.5,
                                 centered=True),
    "adamax": torch.optim.Adamax,
    "adadelta": functools.partial(torch.optim.Adadelta, rho=0.8),
    "radam": functools.partial(torch.optim.RAdam, betas=(0.8, 0.9),
                               weight_decay=0.1, decoupled_weight_decay=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_of_pytorch(name: str) -> None:
    """Groups with settings of their own; parameters and states of eager
    PyTorch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(),
                                torch.nn.Linear(5, 1))

    def make(model: torch.nn.Module) -> torch.optim.Optimizer:
        return OPTIMIZERS[name]([
            {"params": model[0].parameters(), "weight_decay": 0.05},
            {"params": model[2].parameters(), "lr": 0.02}], lr=0.01)

    batches = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(7)]
    step = regather.compile(model, batches[0], optimizer=make(model),
                            loss=torch.nn.functional.mse_loss)
    optimizer = make(model)
    for inputs, targets in batches:
        loss = step((inputs, targets))
        optimizer.zero_grad()
        expected = torch.nn.functional.mse_loss(model(inputs), targets)
        expected.backward()
        optimizer.step()
        torch.testing.assert_close(loss, expected.detach(), rtol=1e-5,
                                   atol=1e-6)
    found = step.state_dict()
    for key, parameter in model.named_parameters():
        states = {kind: value for kind, value in
                  optimizer.state[parameter].items() if kind != "step"}
        torch.testing.assert_close(found["model"][key], parameter.detach(),
                                   rtol=1e-5, atol=1e-6)
        ours = found["optimizer"]["state"][key]
        for kind, value in states.items():
            torch.testing.assert_close(ours[kind], value, rtol=1e-4, atol=1e-6)

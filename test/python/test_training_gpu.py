"""Training steps in Python on GPUs, `regather.compile(..., device="cuda")`, on the
libraries that stand in for CUDA, cuBLASLt and NCCL."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.13")

import regather  # noqa: E402
import training_ranks as ranks  # noqa: E402
from gpu_tools import LIBRARIES, STAND_IN  # noqa: E402
from regather import RegatherError  # noqa: E402
from regather.training.device import choose_device  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402
from training_jobs import launch  # noqa: E402


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in LIBRARIES.items():
        monkeypatch.setenv(name, path)


def on_cpu() -> tuple[list[float], regather.TrainingStep, object]:
    step, schedule = ranks.compile_step(quiet=True)
    return ranks.train(step, schedule, 6), step, schedule


def test_trains_as_the_cpu_does(tmp_path: Path) -> None:
    losses, expected, _ = on_cpu()
    found = ranks.run_gpu(tmp_path)
    assert found["losses"] == pytest.approx(losses, rel=1e-5)
    assert found["losses"][5] < found["losses"][0]
    torch.testing.assert_close(
        torch.tensor(found["weight"]),
        expected.state_dict()["model"]["embedding.weight"], rtol=1e-4,
        atol=1e-6)
    assert found["eval"] == pytest.approx(
        expected.eval(ranks.batch(99)).item(), rel=1e-5)
    # From both kinds of checkpoints.
    assert found["same"] == [True, True]
    expected.accumulate(ranks.batch(6))
    assert found["sums"] == pytest.approx(
        [expected(ranks.batch(7)).item(), expected(ranks.batch(8)).item()],
        rel=1e-3)


def test_ranks_train_as_the_cpu_does(tmp_path: Path) -> None:
    losses, expected, _ = on_cpu()
    (tmp_path / "nccl").mkdir()
    found = launch("gpu", 2, tmp_path, **LIBRARIES,
                   REGATHER_STAND_IN_DEVICES="2",
                   REGATHER_STAND_IN_NCCL_FOLDER=str(tmp_path / "nccl"))
    assert found[0] == found[1]
    assert found[0]["losses"] == pytest.approx(losses, rel=1e-4)
    torch.testing.assert_close(
        torch.tensor(found[0]["weight"]),
        expected.state_dict()["model"]["embedding.weight"], rtol=1e-3,
        atol=1e-5)
    assert found[0]["eval"] == pytest.approx(
        expected.eval(ranks.batch(99)).item(), rel=1e-4)
    assert found[0]["same"] == [True, True]


def test_elastic_steps_have_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "nccl").mkdir()
    expected = ranks.run_gpu_elastic(tmp_path)
    found = launch("gpu_elastic", 2, tmp_path, **LIBRARIES,
                   REGATHER_STAND_IN_DEVICES="2",
                   REGATHER_STAND_IN_NCCL_FOLDER=str(tmp_path / "nccl"))
    assert found == [expected, expected]


def test_ranks_hear_what_is_wrong_with_others(tmp_path: Path) -> None:
    (tmp_path / "nccl").mkdir()
    found = launch("gpu_death", 2, tmp_path, **LIBRARIES,
                   REGATHER_STAND_IN_NCCL_FOLDER=str(tmp_path / "nccl"))
    assert found[0]["device"] == (
        "all ranks need the same step, but ranks 0 and 1 differ in option "
        "'device': 'cpu' and 'cuda'")
    # It died, and this rank says where it was itself, long before the time of a
    # step is over.
    assert found[1] == {}
    assert "rank 1 is gone" in found[0]["error"]
    assert "rank 0 is in collective" in found[0]["error"]
    assert "in module '" in found[0]["error"]


class OnDevice(torch.Tensor):
    """Memory of the device that stands in, which PyTorch takes for that of the
    host."""

    @property
    def device(self) -> torch.device:
        return torch.device("cuda:0")

    @property
    def dtype(self) -> torch.dtype:
        return torch.int64


def upload(values: torch.Tensor) -> tuple[torch.Tensor, ctypes.c_uint64]:
    driver = ctypes.CDLL(str(STAND_IN))
    address = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(address),
                                ctypes.c_size_t(values.nbytes)) == 0
    memory = torch.frombuffer(
        (ctypes.c_char * values.nbytes).from_address(address.value),
        dtype=values.dtype).reshape(values.shape)
    memory.copy_(values)
    return memory.as_subclass(OnDevice), address


def test_batches_on_the_device_are_read_there(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    awaited = []

    class Stream:
        def synchronize(self) -> None:
            awaited.append(True)

    monkeypatch.setattr(torch.cuda, "current_stream",
                        lambda device: awaited.append(device) or Stream())
    step, _ = ranks.compile_step(device="cuda:0", quiet=True)
    other, _ = ranks.compile_step(device="cuda:0", quiet=True)
    tokens, targets = (tensor.contiguous() for tensor in ranks.batch(0))
    kept = [upload(tokens), upload(targets)]
    losses = [step((kept[0][0], targets)).item() for _ in range(2)]
    assert awaited == [0, True] * 2
    expected = [other((tokens, targets)).item() for _ in range(2)]
    assert losses == expected
    with pytest.raises(RegatherError, match="'tokens': expects a tensor on cpu "
                       "or cuda:0, got one on meta"):
        step((tokens.to("meta"), targets))


def parameters(*devices: str) -> torch.nn.Module:
    """A model with a parameter on each of some devices."""
    model = torch.nn.Module()
    with FakeTensorMode():
        for i, device in enumerate(devices):
            model.register_parameter(
                f"p{i}", torch.nn.Parameter(torch.empty(1, device=device)))
    return model


def test_parameters_say_where_a_step_runs() -> None:
    assert choose_device(None, parameters("cpu", "cpu")) == "cpu"
    assert choose_device(None, parameters("meta", "cuda:1")) == "cuda:1"
    assert choose_device(None, parameters("meta")) == "cpu"
    assert choose_device("cuda", parameters("cpu")) == "cuda"
    assert choose_device(torch.device("cuda", 2), parameters()) == "cuda:2"
    with pytest.raises(RegatherError, match="on one device, got 'p0' on cpu and "
                       "'p1' on cuda:0"):
        choose_device(None, parameters("cpu", "cuda:0"))
    with pytest.raises(RegatherError, match="cuda and cuda:N, got device 'mps'"):
        choose_device("mps", parameters("cpu"))


def compile_small(**options: object) -> regather.TrainingStep:
    with torch.device("meta"):
        model = torch.nn.Linear(2, 1)
    return regather.compile(
        model, (torch.ones(4, 2), torch.ones(4, 1)), optimizer="sgd", lr=0.1,
        loss=torch.nn.functional.mse_loss, quiet=True, **options)


def test_meta_model_is_initialised_on_the_device() -> None:
    step, other = compile_small(device="cuda", seed=3), compile_small(seed=3)
    weight = step.state_dict()["model"]["weight"]
    assert torch.equal(weight, other.state_dict()["model"]["weight"])
    weight.zero_()
    # A copy, which is taken when it is loaded.
    assert step.state_dict()["model"]["weight"].any()
    step.load_state_dict(step.state_dict() | {"model": {
        "weight": weight, "bias": torch.zeros(1)}})
    assert not step.state_dict()["model"]["weight"].any()
    assert step((torch.ones(4, 2), torch.ones(4, 1))).item() == 1.0


def test_all_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA", "CUBLASLT"):
        monkeypatch.setenv(f"REGATHER_{name}_LIBRARY", f"/no/{name}")
    with pytest.raises(RegatherError) as caught:
        compile_small(device="cuda")
    assert "cannot open the CUDA driver: /no/CUDA" in str(caught.value)
    assert "cannot open cuBLASLt: /no/CUBLASLT" in str(caught.value)


@pytest.mark.parametrize("options, message", [
    ({"device": "cuda:7"}, "there is no device 7: the CUDA driver shows 1")])
def test_wrong_options(options: dict, message: str) -> None:
    with pytest.raises(RegatherError, match=message):
        compile_small(**options)

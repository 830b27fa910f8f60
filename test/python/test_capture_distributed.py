"""Capturing models that communicate: SimpleFSDP and tensor parallelism."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import calls, example  # noqa: E402
from capture_ranks import evaluate_ranks, shard  # noqa: E402
from torch import nn  # noqa: E402

import regather  # noqa: E402

llama3 = example("llama3")
simple_fsdp, tensor_parallel = llama3.fully_shard, llama3.tensor_parallel


@pytest.fixture
def no_group():
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def reference(batches):
    """Weights, and mean loss and gradients of all batches by one device."""
    model, _, loss, _ = llama3.step("tiny")
    total = sum(loss(model(t), y) for t, y in batches) / len(batches)
    total.backward()
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return tensors, total.detach(), {n: p.grad for n, p in model.named_parameters()}


def batches(count):
    generator = torch.Generator().manual_seed(2)
    make = lambda: torch.randint(0, 64, (1, 16), generator=generator)  # noqa: E731
    return [(make(), make()) for _ in range(count)]


def assert_trains_as_one_device(graph, replicas):
    """``replicas``: how many neighbouring ranks see the same batch."""
    document = graph.document
    (mesh,) = document["meshes"]
    data = batches(mesh["axes"][0][1])
    tensors, loss, gradients = reference(data)
    spread = [item for item in data for _ in range(replicas)]
    results = evaluate_ranks(
        document,
        tensors,
        {"tokens": [t for t, _ in spread], "labels": [y for _, y in spread]},
    )
    mean = sum(results["loss", None]) / len(spread)
    torch.testing.assert_close(mean, loss, rtol=1e-5, atol=1e-5)
    for entry in document["parameters"]:
        want = shard(gradients[entry["name"]], entry, document)
        got = results["gradient", entry["name"]]
        scale = float(gradients[entry["name"]].norm())
        for a, b in zip(got, want):
            assert float((a - b).norm()) <= 1e-5 * scale, entry["name"]


def test_simple_fsdp(no_group):
    mesh = regather.fake_mesh({"dp": 4})
    model, inputs, loss, targets = llama3.step("tiny")
    graph = regather.capture(simple_fsdp(model, mesh), inputs, loss, targets)
    count = len(graph.document["parameters"])
    gathers = calls(graph, "_c10d_functional.all_gather_into_tensor.default")
    scatters = calls(graph, "_c10d_functional.reduce_scatter_tensor.default")
    assert len(gathers) == len(scatters) == count
    assert {n["phase"] for n in gathers} == {"forward"}
    assert {n["phase"] for n in scatters} == {"backward"}
    assert graph.document["groups"] == {"mesh.dp": {"mesh": "mesh", "axes": ["dp"]}}
    assert graph.document["parameters"][0]["placement"] == {
        "mesh": "mesh",
        "axes": [{"axes": ["dp"], "shard": 0}],
        "shape": [64, 32],
    }
    # A gather in the forward pass and its scatter are one pair.
    assert {n["seq"] for n in gathers} == {n["seq"] for n in scatters}
    assert_trains_as_one_device(graph, replicas=1)


def test_simple_fsdp_with_tensor_parallelism(no_group):
    mesh = regather.fake_mesh({"dp": 4, "tp": 2})
    model, inputs, loss, targets = llama3.step("tiny")
    model = simple_fsdp(tensor_parallel(model, mesh), mesh)
    graph = regather.capture(model, inputs, loss, targets)
    assert graph.document["meshes"] == [
        {"name": "mesh", "axes": [["dp", 4], ["tp", 2]]}
    ]
    assert set(graph.document["groups"]) == {"mesh.dp", "mesh.tp"}
    parameters = {p["name"]: p for p in graph.document["parameters"]}
    assert parameters["layers.0.attention.wq.weight"]["placement"]["axes"] == [
        {"axes": ["dp"], "shard": 1},
        {"axes": ["tp"], "shard": 0},
    ]
    assert_trains_as_one_device(graph, replicas=2)


def test_group_of_no_known_mesh(no_group):
    import torch.distributed._functional_collectives as collectives

    mesh = regather.fake_mesh({"dp": 4})

    class Reducing(nn.Linear):
        def forward(self, x):
            group = mesh.get_group("dp")
            return collectives.all_reduce(super().forward(x).sum(), "sum", group)

    class Trained(Reducing):
        def forward(self, x):
            return super().forward(x).detach() + self.weight.sum()

    model, x = Trained(4, 4), torch.ones(2, 4)
    with pytest.raises(regather.CaptureError, match="belongs to no mesh"):
        regather.capture(model, (x,))
    graph = regather.capture(model, (x,), meshes={"ring": mesh})
    assert graph.document["groups"] == {"ring.dp": {"mesh": "ring", "axes": ["dp"]}}


def test_same_bytes_in_another_process_with_other_groups(no_group, tmp_path):
    # Groups made before change PyTorch's names of them, not ours.
    mesh = regather.fake_mesh({"dp": 4})
    for _ in range(2):
        torch.distributed.new_group([0, 1])
    mesh = regather.fake_mesh({"dp": 4})
    model, inputs, loss, targets = llama3.step("tiny")
    graph = regather.capture(simple_fsdp(model, mesh), inputs, loss, targets)
    program = (
        "import json, sys; sys.path[:0] = sys.argv[1:]\n"
        "import test_capture_distributed as t\n"
        "import regather\n"
        "mesh = regather.fake_mesh({'dp': 4})\n"
        "m, i, l, y = t.llama3.step('tiny')\n"
        "g = regather.capture(t.simple_fsdp(m, mesh), i, l, y)\n"
        "print(json.dumps(g.document))\n"
    )
    other = subprocess.run(
        [sys.executable, "-c", program, *sys.path],
        capture_output=True, text=True, check=True,
    )
    assert json.loads(other.stdout) == graph.document

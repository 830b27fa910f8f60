"""Capturing training steps: what the graph computes and what it records."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import (  # noqa: E402
    assert_equals_eager,
    calls,
    example,
    module_of,
)
from capture_evaluator import evaluate  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import regather  # noqa: E402

llama3 = example("llama3")


def tiny_llama(**options):
    model, inputs, loss, targets = llama3.step("tiny", **options)
    generator = torch.Generator().manual_seed(1)
    inputs, targets = (
        (torch.randint(0, 64, t.shape, generator=generator),)
        for t in (inputs[0], targets[0])
    )
    return model, inputs, loss, targets


@pytest.fixture(scope="module")
def llama():
    model, inputs, loss, targets = tiny_llama(batch=2)
    return regather.capture(model, inputs, loss, targets), model, inputs, targets


@pytest.mark.parametrize("complex_rope", [False, True])
def test_llama_computes_what_eager_computes(complex_rope):
    model, inputs, loss, targets = tiny_llama(batch=2, complex_rope=complex_rope)
    graph = regather.capture(model, inputs, loss, targets)
    assert_equals_eager(
        graph,
        loss(model(*inputs), *targets),
        model,
        {"tokens": inputs[0], "labels": targets[0]},
    )


def test_same_input_same_bytes(tmp_path):
    for name in "ab":
        model, inputs, loss, targets = tiny_llama()
        graph = regather.capture(model, inputs, loss, targets)
        graph.save(tmp_path / f"{name}.fx.json")
        graph.save_weights(tmp_path / f"{name}.safetensors")
    for kind in ("fx.json", "safetensors"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (
            tmp_path / f"b.{kind}"
        ).read_bytes()


def test_saved_file_is_the_document(llama, tmp_path):
    graph = llama[0]
    graph.save(tmp_path / "x.fx.json")
    assert json.loads((tmp_path / "x.fx.json").read_text()) == graph.document
    assert [p.name for p in tmp_path.iterdir()] == ["x.fx.json"]


def test_weights_hold_every_parameter_and_buffer(llama, tmp_path):
    from safetensors.torch import load_file

    graph, model, inputs, targets = llama
    graph.save_weights(tmp_path / "x.safetensors")
    weights = load_file(tmp_path / "x.safetensors")
    entries = graph.document["parameters"] + graph.document["buffers"]
    assert set(weights) == {entry["name"] for entry in entries}
    batch = {"tokens": inputs[0], "labels": targets[0]}
    again = evaluate(graph.document, weights, batch)
    first = evaluate(graph.document, graph.tensors, batch)
    assert again["loss", None] == first["loss", None]


def test_names_are_unique_and_defined_before_use(llama):
    seen = set()

    def check(value):
        if isinstance(value, dict) and "node" in value:
            assert value["node"] in seen
        elif isinstance(value, list):
            for item in value:
                check(item)

    for node in llama[0].nodes:
        check(node["args"])
        for value in node.get("kwargs", {}).values():
            check(value)
        assert node["name"] not in seen
        seen.add(node["name"])
    for output in llama[0].document["outputs"]:
        assert output["node"] in seen


def test_attention_is_one_node_each_way(llama):
    graph = llama[0]
    flash = "aten._scaled_dot_product_flash_attention_for_cpu"
    forward = calls(graph, f"{flash}.default")
    backward = calls(graph, f"{flash}_backward.default")
    assert len(forward) == len(backward) == 2
    # Grouped queries: two key heads serve four query heads, unrepeated.
    key = next(n for n in graph.nodes if n["name"] == forward[0]["args"][1]["node"])
    assert key["outputs"][0]["shape"] == [2, 2, 16, 8]
    # The first to run forward is the last to run backward.
    assert [n["seq"] for n in forward] == [n["seq"] for n in reversed(backward)]


def test_modules_phases_and_lines(llama):
    graph = llama[0]
    modules = graph.document["modules"]
    assert {"embedding", "layers.1.feed_forward.w2", "output"} <= set(modules)
    products = calls(graph, "aten.mm.default")
    output = [n for n in products if module_of(graph, n) == "output"]
    assert [n["phase"] for n in output] == ["forward", "backward", "backward"]
    assert len({n["seq"] for n in output}) == 1
    (embedding,) = calls(graph, "aten.embedding.default")
    (scatter,) = calls(graph, "aten.embedding_dense_backward.default")
    assert embedding["loc"] == scatter["loc"]
    assert embedding["seq"] == scatter["seq"]
    assert module_of(graph, scatter) == "embedding"
    file, line = embedding["loc"]
    assert graph.document["files"][file].endswith("examples/llama3.py")
    source = open(llama3.__file__, encoding="utf-8").read().splitlines()
    assert "self.embedding(tokens)" in source[line - 1]
    phases = [n["phase"] for n in graph.nodes]
    assert phases == sorted(phases, key=["forward", "backward"].index)


def test_every_backward_node_but_the_first_is_paired(llama):
    graph = llama[0]
    forward = {n["seq"] for n in graph.nodes
               if n["phase"] == "forward" and "seq" in n}
    lone = [
        n["target"]
        for n in graph.nodes
        if n["phase"] == "backward" and n.get("seq") not in forward
    ]
    assert lone == ["aten.full_like.default"]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(16, 8)
        self.frozen = nn.Linear(8, 8)
        self.frozen.requires_grad_(False)
        self.unused = nn.Linear(8, 8)
        self.head = nn.Linear(8, 16, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.frozen(self.embedding(tokens)))


def tied_loss(logits, labels):
    return F.cross_entropy(logits, labels)


def test_tied_frozen_and_unused_parameters():
    model, tokens = Tied(), torch.arange(8)
    graph = regather.capture(model, (tokens,), tied_loss, (tokens,))
    parameters = {p["name"]: p for p in graph.document["parameters"]}
    assert parameters["embedding.weight"]["aliases"] == ["head.weight"]
    assert "head.weight" not in parameters
    assert [p["registration"] for p in parameters.values()] == list(range(5))
    assert not parameters["frozen.weight"]["requires_grad"]
    outputs = [(o["role"], o.get("of")) for o in graph.document["outputs"]]
    assert outputs == [("loss", None), ("gradient", "embedding.weight")]
    assert_equals_eager(
        graph,
        tied_loss(model(tokens), tokens),
        model,
        {"tokens": tokens, "labels": tokens},
    )


def test_the_model_is_left_as_it_was():
    model, tokens = Tied(), torch.arange(8)
    before = dict(model.named_parameters())
    regather.capture(model, (tokens,), tied_loss, (tokens,))
    assert all(p is before[n] for n, p in model.named_parameters())
    assert model.head.weight is model.embedding.weight
    assert all(p.grad is None for p in model.parameters())


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.linear(x)).square().sum()


def test_buffers_and_their_updates():
    model, x = Norm(), torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    graph = regather.capture(model, (x,))
    names = [b["name"] for b in graph.document["buffers"]]
    assert names == [f"norm.{n}" for n in (
        "running_mean", "running_var", "num_batches_tracked"
    )]
    results = evaluate(graph.document, graph.tensors, {"x": x})
    model(x)
    for name, value in model.named_buffers():
        torch.testing.assert_close(results["buffer", name], value)


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        y = x @ self.weight
        y[:, 0].mul_(2.0)
        y.add_(1.0)
        return y.relu_().sum()


def test_in_place_operators_become_functional():
    model, x = InPlace(), torch.randn(3, 4)
    graph = regather.capture(model, (x,))
    for node in graph.nodes:
        assert not node.get("target", "").split(".")[-2:][0].endswith("_")
    assert_equals_eager(graph, model(x), model, {"x": x})


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return F.dropout(self.linear(x), 0.5).sum() + torch.rand(3).sum()


def test_random_operators_stay():
    graph = regather.capture(Dropped(), (torch.randn(2, 4),))
    (dropout,) = calls(graph, "aten.native_dropout.default")
    assert [o["dtype"] for o in dropout["outputs"]] == ["float32", "bool"]
    assert len(calls(graph, "aten.rand.default")) == 1


class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.table = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x):
        y = self.linear(x) * self.table * torch.tensor(2.0)
        return y.masked_fill(y > 3, float("-inf")).exp().sum()


def test_constants_are_recorded():
    model, x = Constants(), torch.randn(2, 3)
    graph = regather.capture(model, (x,))
    (constant,) = graph.document["buffers"]
    assert constant == {"node": "c_0", "name": "constants.0", "constant": True}
    assert {"float": "-inf"} in [a for n in graph.nodes for a in n["args"]]
    assert_equals_eager(graph, model(x), model, {"x": x})


class Checkpointed(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.options = options

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        x = x + self.second.bias
        y = checkpoint(lambda v: self.first(v).tanh(), x, **self.options)
        return self.second(y).sum()


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_tags_and_does_not_repeat(reentrant):
    model, x = Checkpointed(use_reentrant=reentrant), torch.randn(2, 4)
    graph = regather.capture(model, (x,))
    assert len(calls(graph, "aten.tanh.default")) == 1
    for node in calls(graph, "aten.addmm.default"):
        first = module_of(graph, node) == "first"
        assert node.get("recompute") == ("prefer_recompute" if first else None)
    assert_equals_eager(graph, model(x), model, {"x": x})


def test_selective_checkpointing_tags_each_operator():
    from torch.utils.checkpoint import (
        CheckpointPolicy,
        create_selective_checkpoint_contexts,
    )

    def policy(context, operator, *args, **kwargs):
        if operator == torch.ops.aten.addmm.default:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.MUST_RECOMPUTE

    model = Checkpointed(
        use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts(policy),
    )
    graph = regather.capture(model, (torch.randn(2, 4),))
    (tanh,) = calls(graph, "aten.tanh.default")
    assert tanh["recompute"] == "must_recompute"
    tags = {module_of(graph, n): n.get("recompute") for n in graph.nodes
            if n.get("target") == "aten.addmm.default"}
    assert tags == {"first": "must_save", "second": None}


class FromMapping(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, x, extra=None, scale=1.0):
        return {"loss": (self.linear(x) + extra["bias"]).sum() * scale}


def test_inputs_by_keyword_and_outputs_kept():
    x = torch.randn(2, 4)
    inputs = {"x": x, "extra": {"bias": torch.ones(1)}, "scale": 3.0}
    graph = regather.capture(FromMapping(), inputs, keep_outputs=True)
    assert [i["name"] for i in graph.document["inputs"]] == ["x", "extra.bias"]
    assert [o["role"] for o in graph.document["outputs"]].count("output") == 1


def test_without_memory_for_weights(tmp_path):
    model, inputs, loss, targets = llama3.step("8B", layers=1, sequence=64)
    assert all(p.is_meta for p in model.parameters())
    graph = regather.capture(model, inputs, loss, targets)
    assert len(calls(graph, "aten.mm.default")) == 3 * 8
    with pytest.raises(regather.CaptureError, match="has no data"):
        graph.save_weights(tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())

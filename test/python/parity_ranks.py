"""What the processes of `test_training_parity.py` run: one of four ranks that
train a model with PyTorch and with Regather, one case after the other."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import (DTensor, Partial, Replicate, Shard,
                                      distribute_tensor)
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parametrize

import regather

RANKS = 4
LEARNING_RATE = 1e-3
# A gradient that is nothing but rounding moves its parameter little.
EPSILON = 1e-4


# -----------------------------------------------------------------------------
# Models
# -----------------------------------------------------------------------------

@dataclass
class Subject:
    """A model, what is sharded as one, and what makes batches for a seed."""

    model: nn.Module
    blocks: list[nn.Module]
    batch: Callable[[torch.Generator], Any]
    loss: Callable[..., torch.Tensor] | None = None


def llama(config: str) -> Subject:
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    from llama3 import CONFIGS, Llama3, loss

    torch.manual_seed(0)
    sizes = CONFIGS[config]
    model = Llama3(sizes)

    def batch(generator: torch.Generator) -> Any:
        tokens = torch.randint(0, sizes.vocabulary, (2, 17),
                               generator=generator)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    return Subject(model, list(model.layers), batch,
                   lambda logits, labels: loss(logits.float(), labels))


def gpt2() -> Subject:
    import transformers

    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=96, n_positions=16, n_embd=32, n_layer=2, n_head=4,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False))

    def batch(generator: torch.Generator) -> Any:
        tokens = torch.randint(0, 96, (2, 16), generator=generator)
        return {"input_ids": tokens, "labels": tokens.clone()}

    return Subject(model, list(model.transformer.h), batch)


def vit() -> Subject:
    import transformers

    torch.manual_seed(0)
    model = transformers.ViTForImageClassification(transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, image_size=16, patch_size=8, num_labels=5,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))

    def batch(generator: torch.Generator) -> Any:
        return {"pixel_values": torch.randn(2, 3, 16, 16, generator=generator),
                "labels": torch.randint(0, 5, (2,), generator=generator)}

    blocks = [module for module in model.modules()
              if type(module).__name__ == "ViTLayer"]
    return Subject(model, blocks, batch)


MODELS = {"tiny llama": lambda: llama("tiny"), "llama": lambda: llama("debug"),
          "gpt2": gpt2, "vit": vit}


# -----------------------------------------------------------------------------
# Ways to train them
# -----------------------------------------------------------------------------

class Gathered(nn.Module):
    """SimpleFSDP: whoever reads the parameter gathers it, and the gradient is
    scattered as its mean."""

    def forward(self, shard: DTensor) -> torch.Tensor:
        whole = shard.redistribute(placements=[Replicate()])
        return whole.to_local(grad_placements=[Partial("avg")])


def simple_fsdp(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    # Some are tied.
    shards: dict[nn.Parameter, nn.Parameter] = {}
    for module in list(model.modules()):
        for name, value in list(module.named_parameters(recurse=False)):
            if value not in shards:
                shards[value] = nn.Parameter(
                    distribute_tensor(value.detach(), mesh, [Shard(0)]))
            setattr(module, name, shards[value])
            parametrize.register_parametrization(module, name, Gathered(),
                                                 unsafe=True)
    return model


@dataclass
class Case:
    """`wrap` makes of a model one of PyTorch; `options` are ours."""

    wrap: Callable[[Subject], nn.Module]
    options: dict[str, Any] = field(default_factory=dict)
    micro_batches: int = 1
    calls: bool = False
    tolerance: float = 1e-4


def fsdp2(reshard: bool | int = True, hybrid: bool = False,
          **policy: Any) -> Callable[[Subject], nn.Module]:
    def wrap(subject: Subject) -> nn.Module:
        mesh = (init_device_mesh("cpu", (2, RANKS // 2),
                                 mesh_dim_names=("rep", "dp"))
                if hybrid else init_device_mesh("cpu", (RANKS,)))
        options: dict[str, Any] = {"mesh": mesh,
                                   "reshard_after_forward": reshard}
        if policy:
            options["mp_policy"] = MixedPrecisionPolicy(**policy)
        for block in subject.blocks:
            fully_shard(block, **options)
        return fully_shard(subject.model, **options)

    return wrap


def simple(subject: Subject) -> nn.Module:
    return simple_fsdp(subject.model, init_device_mesh("cpu", (RANKS,)))


HYBRID = {"mesh": f"rep:2,dp:{RANKS // 2}", "replicate_axis": "rep"}
NARROW = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}
CASES = {
    "FSDP2 always": Case(fsdp2(), {"options": {"reshard": "always"}}),
    "FSDP2 never": Case(fsdp2(False), {"options": {"reshard": "never"}}),
    "FSDP2 int": Case(fsdp2(2), {"options": {"reshard": "always group=2"}}),
    "DDP": Case(lambda subject: DistributedDataParallel(subject.model),
                {"mesh": f"dp:{RANKS}", "replicate_axis": "dp"}),
    "HSDP": Case(fsdp2(hybrid=True), HYBRID),
    "SimpleFSDP": Case(simple),
    "FSDP2 bf16": Case(fsdp2(**NARROW), dict(NARROW), tolerance=1e-2),
    "FSDP2 accumulate": Case(fsdp2(), {"accumulate": 2}, micro_batches=2),
    "HSDP accumulate": Case(fsdp2(hybrid=True), HYBRID, micro_batches=2,
                            calls=True),
}


def split(batch: Any, parts: int) -> list[Any]:
    if isinstance(batch, dict):
        pieces = {name: value.chunk(parts) for name, value in batch.items()}
        return [{name: value[i] for name, value in pieces.items()}
                for i in range(parts)]
    return list(zip(*(value.chunk(parts) for value in batch)))


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, eps=EPSILON,
                             foreach=False)


def batches(subject: Subject, steps: int, micro_batches: int) -> list[Any]:
    """Of this rank."""
    found = []
    for step in range(steps):
        seed = 1000 * step + dist.get_rank()
        pieces = [subject.batch(torch.Generator().manual_seed(
            seed + 100 * part)) for part in range(micro_batches)]
        found.append(pieces[0] if micro_batches == 1 else join(pieces))
    return found


def join(pieces: list[Any]) -> Any:
    if isinstance(pieces[0], dict):
        return {name: torch.cat([piece[name] for piece in pieces])
                for name in pieces[0]}
    return tuple(torch.cat(values) for values in zip(*pieces))


def train_pytorch(subject: Subject, case: Case, steps: int
                  ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    inputs = batches(subject, steps, case.micro_batches)
    model = case.wrap(subject)
    optimizer = make_optimizer(model)
    losses = []
    for batch in inputs:
        optimizer.zero_grad()
        total = 0.0
        pieces = split(batch, case.micro_batches)
        for number, piece in enumerate(pieces):
            if case.micro_batches > 1:
                model.set_requires_gradient_sync(number == len(pieces) - 1)
            loss = evaluate(model, subject, piece) / len(pieces)
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses.append(total)
    found = torch.tensor(losses)
    dist.all_reduce(found)
    return found / RANKS, {clean(name): whole(value)
                           for name, value in model.named_parameters()}


def clean(name: str) -> str:
    """Without what DDP and parametrizations put around a name."""
    return (name.removeprefix("module.").replace("parametrizations.", "")
            .removesuffix(".original"))


def evaluate(model: nn.Module, subject: Subject, batch: Any) -> torch.Tensor:
    if subject.loss is None:
        return model(**batch).loss
    return subject.loss(model(batch[0]), batch[1])


def whole(value: torch.Tensor) -> torch.Tensor:
    value = value.detach()
    return value.full_tensor() if isinstance(value, DTensor) else value


def train_regather(subject: Subject, case: Case, steps: int
                   ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    inputs = batches(subject, steps, case.micro_batches)
    example = split(inputs[0], case.micro_batches)[0] if case.calls else inputs[0]
    step = regather.compile(subject.model, example, loss=subject.loss,
                            optimizer=make_optimizer(subject.model), quiet=True,
                            **case.options)
    losses = []
    for batch in inputs:
        pieces = split(batch, case.micro_batches) if case.calls else [batch]
        total = sum(step.accumulate(piece).item() for piece in pieces[:-1])
        losses.append((total + step(pieces[-1]).item()) / len(pieces))
    found = {name: whole(value)
             for name, value in step.state_dict()["model"].items()}
    step.close()
    return torch.tensor(losses), found


def compare(model: str, name: str, steps: int) -> dict[str, Any]:
    """The largest differences, of elements against the largest one of their
    parameter, or what a step moves: the gradient of a bias of keys is nothing but
    rounding. `distance` is that of all parameters as one vector, against its
    length; `moved` is how far the parameter in the middle went."""
    begin = time.monotonic()
    case = CASES[name]
    expected, wanted = train_pytorch(MODELS[model](), case, steps)
    middle = time.monotonic()
    losses, found = train_regather(MODELS[model](), case, steps)
    first = {key: whole(value)
             for key, value in MODELS[model]().model.named_parameters()}

    def differ(others: dict[str, torch.Tensor]) -> list[float]:
        return sorted(
            ((others[key] - value).abs().max()
             / value.abs().max().clamp(min=LEARNING_RATE)).item()
            for key, value in wanted.items())

    squares = [sum(((others[key] - value) ** 2).sum().item()
                   for key, value in wanted.items())
               for others in (found, dict.fromkeys(wanted, torch.zeros(())))]
    return {"case": f"{model}, {name}", "tolerance": case.tolerance,
            "losses": ((losses - expected) / expected).abs().max().item(),
            "weights": differ(found)[-1],
            "distance": (squares[0] / squares[1]) ** 0.5,
            "moved": differ(first)[len(first) // 2],
            "seconds": [round(middle - begin, 1),
                        round(time.monotonic() - middle, 1)]}


def main() -> None:
    folder, steps, *cases = sys.argv[1:]
    # That gathering into one tensor is called otherwise in the next version.
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    path = Path(folder) / f"parity-{os.environ['RANK']}.json"
    found = []
    for case in cases:
        found.append(compare(*case.split(", "), int(steps)))
        path.write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

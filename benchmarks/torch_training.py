"""One rank of a job that trains the Llama of the examples in one way; see
bench_torch.py. Prints seconds and bytes of this rank as JSON."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import (DTensor, Partial, Replicate, Shard,
                                      distribute_tensor)
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parametrize

import regather
import regather.torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

from llama3 import CONFIGS, Llama3, loss  # noqa: E402

ROWS = 8
LEARNING_RATE = 1e-3


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Gathered(nn.Module):
    """SimpleFSDP: whoever reads the parameter gathers it."""

    def forward(self, shard: DTensor) -> torch.Tensor:
        whole = shard.redistribute(placements=[Replicate()])
        return whole.to_local(grad_placements=[Partial("avg")])


def simple_fsdp(model: nn.Module) -> nn.Module:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for module in list(model.modules()):
        for name, value in list(module.named_parameters(recurse=False)):
            setattr(module, name, nn.Parameter(
                distribute_tensor(value.detach(), mesh, [Shard(0)])))
            parametrize.register_parametrization(module, name, Gathered(),
                                                 unsafe=True)
    return model


def fsdp2(model: Llama3) -> nn.Module:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def compiled(wrap: Callable[[Any], nn.Module], **how: Any
             ) -> Callable[[Any], nn.Module]:
    return lambda model: torch.compile(wrap(model), dynamic=False, **how)


def ddp(model: nn.Module) -> nn.Module:
    return (DistributedDataParallel(model) if dist.get_world_size() > 1
            else model)


def drop_ins(model: nn.Module) -> nn.Module:
    return torch.compile(simple_fsdp(model), dynamic=False,
                         options=regather.torch.options(
                             reshard="always", bucket="[layers.*]each"))


WAYS: dict[str, Callable[[Any], nn.Module]] = {
    "DDP": ddp,
    "DDP compiled": compiled(ddp),
    "FSDP2": fsdp2,
    "FSDP2 compiled": compiled(fsdp2),
    "SimpleFSDP": simple_fsdp,
    "SimpleFSDP compiled": compiled(simple_fsdp),
    "SimpleFSDP with drop-ins": drop_ins,
    # One graph; DDP around it reduces its gradients.
    "backend": lambda model: ddp(torch.compile(model, backend="regather",
                                               dynamic=False)),
}
STEP = "step"


def make_step(way: str, model: Llama3, batch: Any) -> Callable[[Any], Any]:
    if way == STEP:
        optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
        return regather.compile(model, batch, loss=loss, optimizer=optimizer,
                                quiet=True)
    wrapped = WAYS[way](model)
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=LEARNING_RATE)

    def step(pair: Any) -> torch.Tensor:
        optimizer.zero_grad()
        value = loss(wrapped(pair[0]), pair[1])
        value.backward()
        optimizer.step()
        mean = value.detach().clone()
        if dist.get_world_size() > 1:
            dist.all_reduce(mean, dist.ReduceOp.AVG
                            if dist.get_backend() == "nccl"
                            else dist.ReduceOp.SUM)
            mean /= dist.get_world_size()
        return mean

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=[*WAYS, STEP])
    parser.add_argument("--config", choices=CONFIGS, default="debug")
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    config = CONFIGS[arguments.config]
    model = Llama3(config)
    tokens = torch.randint(0, config.vocabulary,
                           (ROWS, arguments.sequence + 1),
                           generator=torch.Generator().manual_seed(1))
    mine = tokens.chunk(ranks)[rank]
    batch = mine[:, :-1].contiguous(), mine[:, 1:].contiguous()
    imported = peak_bytes()
    begin = time.perf_counter()
    step = make_step(arguments.way, model, batch)
    losses = [float(step(batch))]
    first = time.perf_counter() - begin
    times = []
    for _ in range(arguments.steps):
        dist.barrier()
        begin = time.perf_counter()
        losses.append(float(step(batch)))
        times.append(time.perf_counter() - begin)
    print(json.dumps({
        "torch": torch.__version__, "first_seconds": first,
        "step_seconds": statistics.median(times), "losses": losses,
        "peak_bytes": peak_bytes() - imported}), flush=True)
    dist.barrier()
    if isinstance(step, regather.TrainingStep):
        step.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

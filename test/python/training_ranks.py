"""What the processes of `test_training_step.py` run: one rank of a job."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import signal
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

import torch
import torch._dynamo  # Captures need it; see main.
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn

import regather

CLIP = 0.5
SIZE = 6


class Model(nn.Module):
    """Rows that 2 and 4 ranks cannot divide, a tied weight, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(13, 10)
        self.hidden = nn.Linear(10, 10)
        self.norm = nn.LayerNorm(10)
        self.output = nn.Linear(10, 13, bias=False)
        self.output.weight = self.embedding.weight
        self.register_buffer("scale", torch.tensor(1.5))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(torch.tanh(self.hidden(self.embedding(tokens))))
        return self.output(hidden) * self.scale


def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_model() -> Model:
    torch.manual_seed(3)
    return Model()


def make_optimizer(model: nn.Module) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), lr=0.02, betas=(0.9, 0.95),
                             weight_decay=0.1)


def make_schedule(optimizer: torch.optim.Optimizer
                  ) -> torch.optim.lr_scheduler.LRScheduler:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n))


def batch(step: int, part: int = 0, parts: int = 1
          ) -> tuple[torch.Tensor, torch.Tensor]:
    """One of `parts` parts of a global batch that depends on the step alone."""
    generator = torch.Generator().manual_seed(1000 + step)
    tokens = torch.randint(0, 13, (8, SIZE + 1), generator=generator)
    tokens = tokens.chunk(parts)[part]
    return tokens[:, :-1], tokens[:, 1:]


def compile_step(**options: object) -> tuple[regather.TrainingStep,
                                             object]:
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    model = make_model()
    optimizer = make_optimizer(model)
    step = regather.compile(model, batch(0, 0, ranks), loss=loss,
                            optimizer=optimizer, clip=CLIP, timeout=60,
                            **options)
    return step, make_schedule(optimizer)


def train(step: regather.TrainingStep, schedule: object, steps: int,
          first: int = 0) -> list[float]:
    losses = []
    for number in range(first, first + steps):
        losses.append(step(batch(number, step.rank, step.ranks)).item())
        schedule.step()
    return losses


def run_train(folder: Path) -> dict[str, object]:
    """Six steps, saved after three; an evaluation behind them. Ahead of them
    `repeat`."""
    step, schedule = compile_step()
    first = {name: tensor.clone()
             for name, tensor in local_parts(step.state_dict()).items()}
    repeated = repeat(step)
    for name, tensor in local_parts(step.state_dict()).items():
        tensor.copy_(first[name])
    step.load_state_dict(step.state_dict() | {"step": 0})
    losses = train(step, schedule, 3)
    dcp.save(step.state_dict(), checkpoint_id=folder / "checkpoint")
    step.save(folder / "tensors")
    losses += train(step, schedule, 3, 3)
    evaluated = step.eval(batch(99, step.rank, step.ranks)).item()
    tied = step.state_dict()["model"]["embedding.weight"]
    weight = tied.full_tensor() if hasattr(tied, "full_tensor") else tied
    return {"losses": losses, "eval": evaluated, "weight": weight.tolist(),
            "repeated": repeated}


def run_resume(folder: Path) -> dict[str, object]:
    """The last three of the steps of `run_train`, on any number of ranks, from
    both kinds of checkpoints."""
    step, schedule = compile_step()
    state = step.state_dict()
    dcp.load(state, checkpoint_id=folder / "checkpoint")
    step.load_state_dict(state)
    count = step.count
    for _ in range(count):
        schedule.step()
    at_save = copy.deepcopy(schedule.state_dict())
    losses = train(step, schedule, 3, count)
    step.load(folder / "tensors")
    for group in schedule.optimizer.param_groups:
        group["lr"] = at_save["_last_lr"][0]
    schedule.load_state_dict(at_save)
    return {"count": count, "losses": losses, "again": step.count,
            "losses again": train(step, schedule, 3, step.count)}


# Of eight rows, and of four micro-batches of them.
ELASTIC = {
    "plain": {"elastic": 8},
    "wide sums": {"elastic": 4, "param_dtype": torch.bfloat16,
                  "reduce_dtype": torch.float32},
    "micro-batches": {"elastic": 4, "accumulate": 2},
}


def run_elastic(folder: Path) -> dict[str, object]:
    """Losses and weights of elastic steps. The first is saved after three steps
    by several ranks."""
    found = {}
    for name, options in ELASTIC.items():
        step, schedule = compile_step(quiet=True, **options)
        losses = train(step, schedule, 3)
        if name == "plain":
            if step.ranks > 1:
                dcp.save(step.state_dict(), checkpoint_id=folder / "checkpoint")
                step.save(folder / "tensors")
            losses.append(step.accumulate(batch(3, step.rank,
                                                step.ranks)).item())
        losses += train(step, schedule, 3, 3)
        losses.append(step.eval(batch(99, step.rank, step.ranks)).item())
        found[name] = [loss.hex() for loss in losses], weights(step)
        step.close()
    return found


def run_elastic_resume(folder: Path) -> dict[str, object]:
    """The first elastic step, from both kinds of checkpoints, and what a step
    with other segments says of them."""
    found = {}
    for name in ("checkpoint", "tensors"):
        step, schedule = compile_step(quiet=True, **ELASTIC["plain"])
        load_from(step, folder / name)
        for _ in range(step.count):
            schedule.step()
        step.accumulate(batch(3, step.rank, step.ranks))
        losses = train(step, schedule, 3, step.count)
        found[name] = [loss.hex() for loss in losses], weights(step)
        step.close()
    other, _ = compile_step(quiet=True, elastic=4)
    found["refused"] = []
    for name in ("checkpoint", "tensors"):
        try:
            load_from(other, folder / name)
        except regather.RegatherError as error:
            found["refused"].append(str(error))
    return found


class Filter(nn.Module):
    """Complex inputs, buffers, and parameters with rows that 2 ranks cannot
    divide."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Parameter(torch.randn(5, 4, dtype=torch.complex64))
        self.output = nn.Linear(5, 2)
        angles = torch.arange(4) / 4
        self.register_buffer("turn", torch.polar(torch.ones(4), angles))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output(((x * self.turn) @ self.mix.T).abs())


def filtered(part: int, parts: int
             ) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A model and one of `parts` parts of its batch."""
    torch.manual_seed(5)
    model = Filter()
    x, y = torch.randn(8, 4, dtype=torch.complex64), torch.randn(8, 2)
    return model, x.chunk(parts)[part], y.chunk(parts)[part]


def run_complex(folder: Path) -> dict[str, object]:
    """Three steps, and one that is resumed from each way of saving two."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    model, x, y = filtered(int(os.environ.get("RANK", "0")), world)

    def make() -> regather.TrainingStep:
        return regather.compile(
            model, (x, y), loss=nn.functional.mse_loss, clip=CLIP, quiet=True,
            optimizer=torch.optim.AdamW(model.parameters(), lr=0.1))

    step, resumed = make(), make()
    losses = [step((x, y)).item() for _ in range(2)]
    dcp.save(step.state_dict(), checkpoint_id=folder / "checkpoint")
    step.save(folder / "tensors")
    losses.append(step((x, y)).item())
    load_from(resumed, folder / "checkpoint")
    again = [resumed((x, y)).item()]
    resumed.load(folder / "tensors")
    again.append(resumed((x, y)).item())
    state = step.state_dict()
    return {"losses": losses, "again": again, "state": {
        name: torch.view_as_real(whole(tensor.detach())).tolist()
        for name, tensor in {
            "mix": state["model"]["mix"], "turn": state["model"]["turn"],
            **state["optimizer"]["state"]["mix"]}.items()}}


class Block(nn.Module):
    """Attention and a feed-forward layer whose sizes 2 and 4 ranks divide."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(16, 16)
        self.positions = nn.Parameter(torch.randn(SIZE, 16))
        self.norm = nn.LayerNorm(16)
        self.first = nn.Linear(16, 16)
        self.qkv = nn.Linear(16, 48, bias=False)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)
        self.output = nn.Linear(16, 16, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(tokens) + self.positions
        hidden = torch.relu(self.first(hidden))
        heads = self.qkv(self.norm(hidden)).unflatten(-1, (3, 4, 4))
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(q, k, v,
                                                           is_causal=True)
        hidden = hidden + found.transpose(1, 2).flatten(2)
        return self.output(hidden + self.down(torch.relu(self.up(hidden))))


def compile_block(parts: int, **options: object) -> regather.TrainingStep:
    torch.manual_seed(5)
    model = Block()
    return regather.compile(model, batch(0, 0, parts), loss=loss, quiet=True,
                            optimizer=make_optimizer(model), clip=CLIP,
                            timeout=60, **options)


def plan_block(mesh: str) -> dict[str, object]:
    """What `regather.plan` says of the mesh."""
    inputs, targets = batch(0)
    torch.manual_seed(5)
    graph = regather.capture(Block(), (inputs,), loss=loss, targets=(targets,))
    plans = regather.plan(graph, ranks=4, optimizer="adamw",
                          cluster="cpu-threads").plans
    return next(plan for plan in plans if plan["mesh"] == mesh)


# How many batches the ranks of a mesh are given.
MESHES = {"dp:2,tp:2": 2, "cp:2,tp:2": 1}


def run_meshes(folder: Path) -> dict[str, object]:
    """Three steps on each mesh, of which the last is done again from what was
    saved on the mesh before; what a wrong loader and a model without experts
    lead to."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    found: dict[str, object] = {}
    saved = None
    for mesh, parts in MESHES.items():
        step = (compile_block(parts, plan=plan_block(mesh))
                if mesh == "dp:2,tp:2" else compile_block(parts, mesh=mesh))
        part = step.data_rank
        assert part == rank * parts // 4 and step.data_ranks == parts
        losses = [step(batch(number, part, parts)).item()
                  for number in range(2)]
        found[mesh] = losses
        state = folder / mesh
        dcp.save(step.state_dict(), checkpoint_id=state)
        losses.append(step(batch(2, part, parts)).item())
        load_from(step, saved or state)
        losses.append(step(batch(2, part, parts)).item())
        # Programs of their own, on the same memory.
        if parts == 2:
            try:
                step.eval(batch(3, rank % 2, parts))
            except regather.RegatherError as error:
                found["loader"] = str(error)
        losses.append(step.eval(batch(3, part, parts)).item())
        step.accumulate(batch(4, part, parts))
        losses += [step(batch(number, part, parts)).item()
                   for number in (5, 6)]
        found[f"{mesh} shards"] = {
            name: [str(placement) for placement in tensor.placements]
            for name, tensor in step.state_dict()["model"].items()}
        saved = state
        step.close()
    try:
        compile_block(4, mesh="dp:2,ep:2")
    except regather.RegatherError as error:
        found["experts"] = str(error)
    return found


def routed(number: int, part: int, parts: int) -> tuple[tuple, tuple]:
    """One of `parts` parts of a batch of tokens that choose their experts."""
    import expert_routings as routings

    tokens = torch.tensor(routings.draw_step(random.Random(number), 2)).reshape(
        routings.BATCH, routings.SEQUENCE).chunk(parts)[part]
    return (tokens,), (tokens,)


def route(step: regather.TrainingStep, numbers: Iterable[int]) -> list[str]:
    return [step(routed(number, step.rank, step.ranks)).item().hex()
            for number in numbers]


def compile_experts(**options: object) -> regather.TrainingStep:
    import expert_routings as routings

    torch.manual_seed(0)
    model = routings.Layer()
    if "WORLD_SIZE" in os.environ:
        options["mesh"] = "dp:2,ep:2"
    rank, world = (int(os.environ.get(name, default)) for name, default
                   in (("RANK", "0"), ("WORLD_SIZE", "1")))
    return regather.compile(
        model, routed(0, rank, world), loss=routings.measure,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        quiet=True, timeout=60, **options)


def end_routing(step: regather.TrainingStep) -> tuple[list[str], dict[str, str]]:
    """What a step that has been run twice ends with: two more steps, gradients
    of two batches, an evaluation."""
    losses = route(step, (2, 3))
    losses.append(step.accumulate(routed(4, step.rank, step.ranks)
                                  ).item().hex())
    losses += route(step, [5])
    losses.append(step.eval(routed(6, step.rank, step.ranks)).item().hex())
    return losses, weights(step)


def run_experts(folder: Path) -> dict[str, object]:
    """Experts over two ranks, without a capacity, with one that never
    suffices, and with one that sometimes does."""
    warnings.simplefilter("ignore")
    gathered = compile_experts()
    losses = route(gathered, (0, 1))
    dcp.save(gathered.state_dict(), checkpoint_id=folder / "checkpoint")
    gathered.save(folder / "tensors")
    found = {"gathered": (losses, *end_routing(gathered)), "resumed": []}
    gathered.close()
    little = compile_experts(expert_capacity=0.01)
    for name in ("checkpoint", "tensors"):
        load_from(little, folder / name)
        found["resumed"].append(end_routing(little))
    found["repeated"] = little.repeated
    little.close()
    some = compile_experts(expert_capacity=1.25)
    found["some"] = route(some, range(4))
    found["some repeated"] = some.repeated
    some.close()
    return found


def load_from(step: regather.TrainingStep, checkpoint: Path) -> None:
    if checkpoint.name == "tensors":
        step.load(checkpoint)
        return
    state = step.state_dict()
    dcp.load(state, checkpoint_id=checkpoint)
    step.load_state_dict(state)


def weights(step: regather.TrainingStep) -> dict[str, str]:
    """A digest of each whole tensor."""
    return {name: hashlib.sha256(
                whole(tensor).contiguous().numpy().tobytes()).hexdigest()
            for name, tensor in step.state_dict()["model"].items()}


def whole(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor")
            else tensor)


def run_refusals(folder: Path) -> dict[str, object]:
    """What each of two ranks hears if the other one compiles something else, or
    the mesh has not as many ranks as there are."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    found = {}

    def compile_with(name: str, seed: int = 3, **options: object) -> None:
        torch.manual_seed(seed)
        model = nn.Linear(2, 1)
        given = {"optimizer": torch.optim.SGD(model.parameters(), 0.1)}
        try:
            regather.compile(model, (torch.ones(3, 2), torch.ones(3, 1)),
                             loss=nn.functional.mse_loss, timeout=30, quiet=True,
                             **(given | options))
            found[name] = ""
        except regather.RegatherError as error:
            found[name] = str(error)

    compile_with("optimizer", clip=1.0 + rank)
    compile_with("options", **({"options": {"policy": "full"}} if rank else {}))
    compile_with("values", seed=rank)
    compile_with("mesh", mesh="dp:4")
    compile_with("axes", mesh="rep:2,dp:1", replicate_axis="ddp")
    compile_with("nothing")
    return found


def repeat(step: regather.TrainingStep) -> list[list[float]]:
    """The same steps again and again, from the same state. Each list of losses
    once."""
    first = {name: tensor.clone()
             for name, tensor in local_parts(step.state_dict()).items()}
    found = set()
    for _ in range(8):
        for name, tensor in local_parts(step.state_dict()).items():
            tensor.copy_(first[name])
        step.load_state_dict(step.state_dict() | {"step": 0})
        found.add(tuple(step(batch(0, step.rank, step.ranks)).item()
                        for _ in range(8)))
    return sorted(map(list, found))


def local_parts(state: dict[str, object]) -> dict[str, torch.Tensor]:
    """The parts of this rank."""
    tensors = dict(state["model"])
    for parameter, kinds in state["optimizer"]["state"].items():
        tensors |= {f"{parameter}.{kind}": tensor
                    for kind, tensor in kinds.items()}
    return {name: tensor.to_local() if hasattr(tensor, "to_local") else tensor
            for name, tensor in tensors.items()}


def run_gpu(folder: Path) -> dict[str, object]:
    """Six steps on GPUs, saved after three; an evaluation, gradients of two
    batches, and the last three steps again from both kinds of checkpoints."""
    step, schedule = compile_step(device="cuda", quiet=True)
    losses = train(step, schedule, 3)
    dcp.save(step.state_dict(), checkpoint_id=folder / "checkpoint")
    step.save(folder / "tensors")
    losses += train(step, schedule, 3, 3)
    last = weights(step)
    found = {"losses": losses, "same": [],
             "eval": step.eval(batch(99, step.rank, step.ranks)).item(),
             "weight": whole(step.state_dict()["model"]["embedding.weight"]
                             ).tolist()}
    for name in ("checkpoint", "tensors"):
        load_from(step, folder / name)
        again = make_schedule(make_optimizer(make_model()))
        for _ in range(step.count):
            again.step()
        for group, known in zip(schedule.optimizer.param_groups,
                                again.optimizer.param_groups):
            group["lr"] = known["lr"]
        schedule.load_state_dict(again.state_dict())
        found["same"].append(train(step, schedule, 3, 3) == losses[3:]
                             and weights(step) == last)
    step.accumulate(batch(6, step.rank, step.ranks))
    found["sums"] = [step(batch(7, step.rank, step.ranks)).item(),
                     step(batch(8, step.rank, step.ranks)).item()]
    step.close()
    return found


def run_gpu_elastic(folder: Path) -> dict[str, object]:
    """Three steps on GPUs whose bits no number of ranks decides."""
    step, schedule = compile_step(device="cuda", elastic=4, quiet=True)
    losses = train(step, schedule, 3)
    found = {"losses": losses, "weight": whole(
        step.state_dict()["model"]["embedding.weight"]).tolist()}
    step.close()
    return found


def run_gpu_death(folder: Path) -> dict[str, object]:
    """What a rank hears of which the other one is on the CPU, and when rank 1
    dies after a step."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    found = {}
    try:
        compile_step(device="cuda" if rank else "cpu", quiet=True)
    except regather.RegatherError as error:
        found["device"] = str(error)
    step, schedule = compile_step(device="cuda", quiet=True)
    train(step, schedule, 1)
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    try:
        train(step, schedule, 1, 1)
    except regather.RegatherError as error:
        found |= {"error": str(error), "seconds": time.monotonic() - begin}
    return found


def run_death(folder: Path) -> dict[str, object]:
    """Rank 1 dies after the first step."""
    step, schedule = compile_step()
    train(step, schedule, 1)
    dist.barrier()
    if step.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        train(step, schedule, 1, 1)
    except regather.RegatherError as error:
        return {"error": str(error)}
    return {}


def run_interrupt(folder: Path) -> dict[str, object]:
    """Rank 1 stops, and its process lives on."""
    step, schedule = compile_step()
    train(step, schedule, 1)
    dist.barrier()
    if step.rank == 1:
        step.close()
        error = ""
    else:
        try:
            train(step, schedule, 1, 1)
            error = "none"
        except regather.RegatherError as caught:
            error = str(caught)
    dist.barrier()
    return {"error": error}


def run_rank(what: str, folder: Path) -> None:
    found = globals()[f"run_{what}"](folder)
    rank = os.environ["RANK"]
    (folder / f"{what}-{rank}.json").write_text(json.dumps(found))
    if dist.is_initialized() and "death" not in what:
        dist.barrier()
        dist.destroy_process_group()


def main() -> None:
    """Runs as many ranks as WORLD_SIZE says, each a process that goes on from
    here: what they import takes longer than most of what they do."""
    what, folder = sys.argv[1], Path(sys.argv[2])
    children = []
    for rank in range(int(os.environ["WORLD_SIZE"])):
        child = os.fork()
        if child == 0:
            os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(rank)
            errors = os.open(folder / f"{what}-{rank}.errors",
                             os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(errors, sys.stderr.fileno())
            run_rank(what, folder)
            return
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
             for child in children]
    (folder / f"{what}-codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main()

"""Trains a small Llama on text with Regather, in one process or in several.

    python examples/train_llama.py --steps 40
    torchrun --nproc-per-node 4 examples/train_llama.py --steps 40

What was saved is continued by the same command, on any number of ranks:

    torchrun --nproc-per-node 2 examples/train_llama.py --steps 60
    torchrun --nproc-per-node 4 examples/train_llama.py --steps 80 --mesh dp:2,tp:2

Bytes are tokens. Each rank reads its part of a global batch that depends on
the number of the step alone, so that a run that was stopped goes on as if it had
not been.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from llama3 import CONFIGS, Llama3, loss

import regather

TEXT = Path(__file__).parent / "text" / "shakespeare.txt"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", choices=CONFIGS, default="debug")
    parser.add_argument("--text", type=Path, default=TEXT)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=4, help="of all ranks")
    parser.add_argument("--sequence", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--mesh", help="such as dp:2,tp:2; all ranks over dp by "
                        "default")
    parser.add_argument("--elastic", type=int, default=0, metavar="S",
                        help="the same losses on any number of ranks")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--save", type=Path, default=Path("checkpoint"))
    parser.add_argument("--save-every", type=int, default=10)
    return parser.parse_args()


class Text:
    """Batches of pieces of a text, drawn by the number of the step."""

    def __init__(self, path: Path, batch: int, sequence: int) -> None:
        self.bytes = torch.frombuffer(bytearray(path.read_bytes()),
                                      dtype=torch.uint8).long()
        self.batch, self.sequence = batch, sequence

    def get(self, step: int, rank: int, ranks: int
            ) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(step)
        last = len(self.bytes) - self.sequence - 1
        starts = torch.randint(0, last, (self.batch,), generator=generator)
        mine = starts.chunk(ranks)[rank].tolist()
        pieces = torch.stack([self.bytes[s:s + self.sequence + 1] for s in mine])
        return pieces[:, :-1].contiguous(), pieces[:, 1:].contiguous()


def count_data_ranks(mesh: str | None) -> int:
    """Ranks that read rows of their own: those along tp and cp share them."""
    if mesh is None:
        return int(os.environ.get("WORLD_SIZE", "1"))
    sizes = dict(axis.split(":") for axis in mesh.split(","))
    return math.prod(int(size) for name, size in sizes.items()
                     if name not in ("tp", "cp"))


def load(step: regather.TrainingStep, folder: Path) -> None:
    """Takes the newest complete save, if there is one."""
    saves = sorted(folder.glob("step-*/.metadata"))
    if saves:
        state = step.state_dict()
        dcp.load(state, checkpoint_id=saves[-1].parent)
        step.load_state_dict(state)


def main() -> None:
    arguments = parse_arguments()
    data_ranks = count_data_ranks(arguments.mesh)
    torch.manual_seed(0)
    model = Llama3(CONFIGS[arguments.config])
    optimizer = torch.optim.AdamW(model.parameters(),
                                  lr=arguments.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1.0, (n + 1) / arguments.warmup))
    text = Text(arguments.text, arguments.batch, arguments.sequence)
    step = regather.compile(model, text.get(0, 0, data_ranks), loss=loss,
                            optimizer=optimizer, clip=1.0, mesh=arguments.mesh,
                            device=arguments.device,
                            elastic=arguments.elastic)
    load(step, arguments.save)
    for _ in range(step.count):
        schedule.step()
    while step.count < arguments.steps:
        begin = time.perf_counter()
        value = step(text.get(step.count, step.data_rank, step.data_ranks))
        schedule.step()
        if step.rank == 0:
            print(f"step {step.count}  loss {value:.6f}  "
                  f"{1e3 * (time.perf_counter() - begin):.1f} ms", flush=True)
        if step.count % arguments.save_every == 0:
            dcp.save(step.state_dict(), checkpoint_id=arguments.save
                     / f"step-{step.count:06}")
    if dist.is_initialized():
        dist.barrier()
        step.close()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

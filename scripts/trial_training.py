"""One rank of a training step in Python over process groups, for `kill_trials.py`:

    trial_training.py FOLDER STEPS TIMEOUT

Saves after each step, and goes on from the last save that is complete. With
REGATHER_FAULT=KIND:RANK:NUMBER that rank is killed, stopped, or loses all its
connections when it sends that message.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn

import regather
from regather.training.process_group import ProcessGroupTransport


def close_sockets() -> None:
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as end:
                if end.family in (socket.AF_INET, socket.AF_INET6):
                    end.shutdown(socket.SHUT_RDWR)
        except OSError:
            # No socket, or none that is connected.
            pass


class Fault:
    """Strikes when the transport sends."""

    def __init__(self, text: str) -> None:
        kind, rank, number = (text or "none:-1:-1").split(":")
        self.kind, self.rank, self.number = kind, int(rank), int(number)
        self.sent = 0

    def strike(self) -> None:
        number, self.sent = self.sent, self.sent + 1
        if (dist.get_rank(), number) != (self.rank, self.number):
            return
        Path(os.environ["REGATHER_FAULT_MARK"]).write_text(
            str(time.monotonic_ns()))
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.kind == "close":
            close_sockets()


def batch(step: int, part: int, parts: int
          ) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(8, 6, generator=generator)
    return inputs.chunk(parts)[part], inputs.tanh().chunk(parts)[part]


def find_save(folder: Path) -> Path | None:
    """Saves appear under their names when they are complete."""
    saves = sorted(folder.glob("step-*"), key=lambda path: path.name)
    return saves[-1] if saves else None


def save(step: regather.TrainingStep, folder: Path) -> None:
    part = folder / f"saving-{step.count:04}"
    dcp.save(step.state_dict(), checkpoint_id=part)
    if dist.get_rank() == 0:
        part.rename(folder / f"step-{step.count:04}")


def main() -> None:
    folder, steps, timeout = (Path(sys.argv[1]), int(sys.argv[2]),
                              float(sys.argv[3]))
    fault = Fault(os.environ.get("REGATHER_FAULT", ""))
    send = ProcessGroupTransport._send

    def faulty_send(transport: ProcessGroupTransport, *arguments: int) -> int:
        fault.strike()
        return send(transport, *arguments)

    ProcessGroupTransport._send = faulty_send
    # What the script and its saves do by themselves ends in time, too.
    dist.init_process_group("gloo", timeout=timedelta(seconds=timeout))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    found = find_save(folder)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 6))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    step = regather.compile(model, batch(0, rank, ranks),
                            loss=nn.functional.mse_loss, optimizer=optimizer,
                            timeout=timeout)
    # Before any rank can have begun to save anew.
    dist.barrier()
    if found:
        state = step.state_dict()
        dcp.load(state, checkpoint_id=found)
        step.load_state_dict(state)
    folder.mkdir(exist_ok=True)
    while step.count < steps:
        loss = step(batch(step.count, rank, ranks)).item()
        if rank == 0:
            print(f"step {step.count}/{steps}  loss {loss!r}", flush=True)
        save(step, folder)
    if count := os.environ.get("REGATHER_FAULT_COUNT"):
        Path(f"{count}{rank}").write_text(str(fault.sent))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

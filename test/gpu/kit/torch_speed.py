"""What PyTorch takes for what the kit has timed. Run by an environment that has
PyTorch; the argument is JSON, and so is the last line of the output:

    {"job": "copy", "device": "cuda", "sizes": {NAME: BYTES}}
    -> {NAME: {"seconds": SECONDS, "peak_bytes": BYTES}}

Exits with 3 if PyTorch cannot do that here; the last line of stderr says why.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

CANNOT = 3
REPEATS = 15
WARM_UP = 3

Figures = dict[str, dict[str, float]]


def cannot(reason: str) -> None:
    print(reason, file=sys.stderr)
    sys.exit(CANNOT)


def seconds_of(work: Callable[[], Any], device: str) -> float:
    """Median of what the device takes; work is enqueued without gaps."""
    for _ in range(WARM_UP):
        work()
    if device == "cpu":
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return statistics.median(times)
    torch.cuda.synchronize()
    events = []
    for _ in range(REPEATS):
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        pair[0].record()
        work()
        pair[1].record()
        events.append(pair)
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) / 1e3
                             for begin, end in events)


def copy(device: str, sizes: dict[str, int]) -> Figures:
    """A copy on the device that reads and writes so many bytes together."""
    figures = {}
    for name, size in sizes.items():
        source = torch.zeros(size // 2, dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        figures[name] = {"seconds": seconds_of(
            lambda: target.copy_(source), device)}
    return figures


def gemm(device: str, sizes: dict[str, list]) -> Figures:
    """Square matrices; f32 is not TF32."""
    torch.backends.cuda.matmul.allow_tf32 = False
    figures = {}
    for name, (dtype, size) in sizes.items():
        a, b = (torch.randn(size, size, device=device).to(getattr(torch, dtype))
                for _ in range(2))
        c = torch.empty_like(a)
        figures[name] = {"seconds": seconds_of(
            lambda: torch.matmul(a, b, out=c), device)}
    return figures


def attention(device: str, sizes: dict[str, list[int]]) -> Figures:
    """Causal attention of bf16, forward and backward."""
    figures = {}
    for name, shape in sizes.items():
        q, k, v, g = (torch.randn(shape, device=device, dtype=torch.bfloat16,
                                  requires_grad=number < 3)
                      for number in range(4))

        def work() -> None:
            q.grad = k.grad = v.grad = None
            torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=True).backward(g)
        figures[name] = {"seconds": seconds_of(work, device)}
    return figures


def model(device: str, sizes: dict[str, str]) -> Figures:
    """A step of a model of torch_models.py, by torch.compile on a GPU."""
    import torch_models

    figures = {}
    for name, factory in sizes.items():
        with torch.device(device):
            step = torch_models.FACTORIES[factory]()
        net, inputs, loss, targets = step.made
        net.to(device)
        optimizer = (torch.optim.AdamW(net.parameters(), lr=1e-3,
                                       fused=device == "cuda")
                     if step.learns else None)

        def compute() -> Any:
            return loss(net(*inputs), *targets)
        run = compute if device == "cpu" else torch.compile(compute)

        def work() -> None:
            net.zero_grad(set_to_none=True)
            run().backward()
            if optimizer:
                optimizer.step()
        try:
            work()
        except torch.cuda.OutOfMemoryError:
            cannot(f"{name} does not fit into the memory of the device")
        except Exception as error:  # noqa: BLE001
            cannot(f"torch.compile does not work here: "
                   f"{type(error).__name__}: {str(error).splitlines()[0]}")
        if device == "cuda":
            work()
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        figures[name] = {"seconds": seconds_of(work, device)}
        if device == "cuda":
            figures[name]["peak_bytes"] = torch.cuda.max_memory_allocated()
    return figures


JOBS = {"copy": copy, "gemm": gemm, "attention": attention, "model": model}


def main() -> None:
    asked = json.loads(sys.argv[1])
    if asked["device"] == "cuda" and not torch.cuda.is_available():
        cannot("torch.cuda.is_available() is false")
    print(json.dumps(JOBS[asked["job"]](asked["device"], asked["sizes"])))


if __name__ == "__main__":
    try:
        import torch
    except ImportError as error:
        cannot(f"PyTorch does not load: {error}")
    main()

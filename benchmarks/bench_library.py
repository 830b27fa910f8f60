"""Matrix products and attention of the runtime beside PyTorch, on 2 threads.

Runs alternate in one minute; medians. A ratio below 1 means that the runtime
is faster. REGATHER_THREADS sets another number of threads.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

THREADS = int(os.environ.get("REGATHER_THREADS", "2"))
ROUNDS = 7
RUNS = 5

# Rows, columns and length of the sum; whether A and B are stored transposed.
PRODUCTS = [
    ("debug Llama, projection", 2048, 256, 256, 0, 1),
    ("debug Llama, feed-forward up", 2048, 688, 256, 0, 1),
    ("debug Llama, feed-forward down", 2048, 256, 688, 0, 1),
    ("debug Llama, vocabulary", 2048, 512, 256, 0, 1),
    ("debug Llama, gradient of a weight", 256, 256, 2048, 1, 0),
    ("debug Llama, gradient of an input", 2048, 256, 688, 0, 0),
    ("GPT-2 small, projection", 512, 768, 768, 0, 0),
    ("GPT-2 small, feed-forward up", 512, 3072, 768, 0, 0),
    ("GPT-2 small, feed-forward down", 512, 768, 3072, 0, 0),
    ("GPT-2 small, gradient of a weight", 768, 3072, 512, 1, 0),
    ("GPT-2 small, vocabulary", 512, 50257, 768, 0, 1),
    ("square", 1024, 1024, 1024, 0, 0),
]

# Names of PyTorch's types, as functions of the module.
TYPES: dict[str, Callable[[Any], Any]] = {
    "f32": lambda torch: torch.float32,
    "bf16": lambda torch: torch.bfloat16,
}

# Batch, heads, length, width, causal.
ATTENTIONS = [
    ("debug Llama", 8, 4, 256, 64, 1),
    ("debug Llama, no mask", 8, 4, 256, 64, 0),
    ("GPT-2 small", 2, 12, 256, 64, 1),
    ("GPT-2 small, no mask", 2, 12, 256, 64, 0),
    ("long", 1, 8, 2048, 64, 1),
    ("long, no mask", 1, 8, 2048, 64, 0),
]


@dataclass
class Case:
    name: str
    line: str
    flops: float
    run: Callable[[], object]


def products(dtype: str) -> Iterator[Case]:
    import torch

    kind = TYPES[dtype](torch)
    for name, m, n, k, left, right in PRODUCTS:
        a = (torch.rand(k, m).t() if left else torch.rand(m, k)).to(kind)
        b = (torch.rand(n, k).t() if right else torch.rand(k, n)).to(kind)
        out = torch.empty(m, n, dtype=kind)
        yield Case(f"{dtype} {name}, {m}x{n}x{k}",
                   f"gemm {m} {n} {k} {left} {right} {dtype}", 2.0 * m * n * k,
                   lambda a=a, b=b, out=out: torch.mm(a, b, out=out))


def attentions(dtype: str) -> Iterator[Case]:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    kind = TYPES[dtype](torch)
    for name, batch, heads, length, width, causal in ATTENTIONS:
        q, k, v = (torch.randn(batch, heads, length, width, dtype=kind,
                               requires_grad=True) for _ in range(3))
        output = scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
        grad = torch.randn_like(output)
        shape = f"{batch} {heads} {length} {width} {causal}"
        flops = 2.0 * batch * heads * length ** 2 * width

        def forward(q: torch.Tensor = q, k: torch.Tensor = k,
                    v: torch.Tensor = v, causal: int = causal) -> object:
            with torch.no_grad():
                return scaled_dot_product_attention(q, k, v,
                                                    is_causal=bool(causal))

        def backward(output: torch.Tensor = output, q: torch.Tensor = q,
                     k: torch.Tensor = k, v: torch.Tensor = v,
                     grad: torch.Tensor = grad) -> object:
            return torch.autograd.grad(output, (q, k, v), grad,
                                       retain_graph=True)

        yield Case(f"{dtype} attention, {name}", f"attention {shape} 0 {dtype}", 2 * flops,
                   forward)
        yield Case(f"{dtype} attention, {name}, backward",
                   f"attention {shape} 1 {dtype}", 5 * flops, backward)


def ask(program: subprocess.Popen[str], line: str) -> float:
    stdin: IO[str] | None = program.stdin
    stdout: IO[str] | None = program.stdout
    assert stdin and stdout
    stdin.write(line + "\n")
    stdin.flush()
    return float(stdout.readline())


def time_torch(run: Callable[[], object]) -> float:
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def measure(program: subprocess.Popen[str], case: Case) -> None:
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(ask(program, case.line))
        theirs.append(time_torch(case.run))
    own, other = statistics.median(ours), statistics.median(theirs)
    print(f"{case.name:55} {own * 1e3:9.3f} ms {case.flops / own / 1e9:7.1f} "
          f"GFLOP/s   PyTorch {other * 1e3:9.3f} ms   ratio {own / other:.2f}",
          flush=True)


def main(args: argparse.Namespace) -> int:
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed")
        return 1
    torch.set_num_threads(THREADS)
    program = Path(args.build_dir) / "bin" / "regather-library-bench"
    with subprocess.Popen([str(program), str(THREADS), str(RUNS)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        for dtype in TYPES:
            for case in [*products(dtype), *attentions(dtype)]:
                measure(process, case)
    return 0
